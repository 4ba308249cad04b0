// Actions of links on names: in the studio they open the editor, the map or the replay; in a report
// there are none.
import { createContext } from 'preact';
import type { MessageOf } from '../api/types';
import { useContext } from 'preact/hooks';

export interface Links {
  /** Opens the editor at a line. */
  edit?: (file: string, line: number) => void;
  /** Shows a statement in the map. */
  map?: (key: string) => void;
  /** Shows the replayed messages that chose a statement. */
  rows?: (key: string) => void;
  /** Opens a message to decide it. */
  decide?: (entry: string, message: string, row?: MessageOf) => void;
}

export const LinksContext = createContext<Links>({});

export function useLinks(): Links {
  return useContext(LinksContext);
}
