// How often each statement took a message in the latest replay, by key: the map shows it beside the statements.
import { signal } from '@preact/signals';

export const numbers = signal<Map<string, number> | null>(null);
