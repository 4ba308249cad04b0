// Actions of links on names: in the studio they open the editor, the map or the replay; in a report
// there are none.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Opened } from '../views/decide/state';

export interface Links {
  /** Opens the editor at a line. */
  edit?: (file: string, line: number) => void;
  /** Shows a statement in the map. */
  map?: (key: string) => void;
  /** Shows the replayed messages that chose a statement. */
  rows?: (key: string) => void;
  /** Opens a message to decide it. */
  decide?: (entry: string, message: string, from?: Opened) => void;
  /** Shows an earlier message, by its position in the history. */
  earlier?: (position: number) => void;
}

export const LinksContext = createContext<Links>({});

export function useLinks(): Links {
  return useContext(LinksContext);
}
