// Reads a file of saved messages. The file is untrusted, so its format is checked.
import type { KeptMessage } from '../../api/types';

/**
 * Reads saved messages: the studio's own file, or messages one per line, which are named by number.
 * Returns null if the text has neither format.
 */
export function readKept(text: string, entry: string): KeptMessage[] | null {
  const whole = json(text);
  if (Array.isArray(whole)) {
    const known = whole.filter(isKept);
    return known.length === whole.length ? known : null;
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const messages = lines.map((line, index) => ({ name: `${index + 1}`, entry, message: line }));
  return lines.length > 0 && lines.every((line) => isRecord(json(line))) ? messages : null;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isKept(value: unknown): value is KeptMessage {
  return (
    isRecord(value) &&
    typeof value.name === 'string' &&
    typeof value.entry === 'string' &&
    typeof value.message === 'string' &&
    ['string', 'undefined'].includes(typeof value.context)
  );
}
