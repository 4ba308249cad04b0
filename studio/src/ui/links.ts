// Where names lead: in the studio to the editor, the map and the replay; in a report nowhere.
import { createContext } from 'preact';
import type { MessageOf } from '../api/types';
import { useContext } from 'preact/hooks';

export interface Links {
  /** Opens the editor at a line. */
  edit?: (file: string, line: number) => void;
  /** Shows a statement in the map. */
  map?: (key: string) => void;
  /** Shows the messages that a statement takes. */
  rows?: (key: string) => void;
  /** Decides on a message. */
  decide?: (entry: string, message: string, row?: MessageOf) => void;
}

export const LinksContext = createContext<Links>({});

export function useLinks(): Links {
  return useContext(LinksContext);
}
