// A text cut at the places that something is said of.

export interface Marking {
  from: number;
  to: number;
  message: string;
}

export interface Piece {
  text: string;
  /** What is said of it; null for what lies between. */
  message: string | null;
}

/** Cuts a text at the marked places. Of places that overlap, the one that begins first and reaches least far is marked. */
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
