// Splits a text at marked ranges.

export interface Marking {
  from: number;
  to: number;
  message: string;
}

export interface Piece {
  text: string;
  /** Message of the marking; null for unmarked text. */
  message: string | null;
}

/**
 * Splits a text at the marked ranges. Of overlapping ranges, the one with the earliest start and
 * then the earliest end is used.
 */
export function pieces(text: string, markings: readonly Marking[]): Piece[] {
  const result: Piece[] = [];
  let done = 0;
  const sorted = [...markings].sort((a, b) => a.from - b.from || a.to - b.to);
  for (const { from, to, message } of sorted) {
    const last = result.at(-1);
    if (from < done && last?.message != null) {
      last.message += `; ${message}`;
      continue;
    }
    if (from < done || to > text.length || to < from) continue;
    if (from > done) result.push({ text: text.slice(done, from), message: null });
    result.push({ text: text.slice(from, to), message });
    done = to;
  }
  if (done < text.length) result.push({ text: text.slice(done), message: null });
  return result;
}
