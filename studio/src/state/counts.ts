// Number of messages that chose each statement in the latest replay, by key. The map shows these
// numbers.
import { signal } from '@preact/signals';

export const numbers = signal<Map<string, number> | null>(null);
