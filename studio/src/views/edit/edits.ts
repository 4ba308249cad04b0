// Text edits of quick fixes.

export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** Returns the text after all edits, whose offsets refer to the original text. */
export function apply(text: string, edits: readonly Edit[]): string {
  const sorted = [...edits].sort((a, b) => a.from - b.from || a.to - b.to);
  let result = '';
  let done = 0;
  for (const edit of sorted) {
    if (edit.from < done) continue;
    result += text.slice(done, edit.from) + edit.text;
    done = edit.to;
  }
  return result + text.slice(done);
}

/**
 * Returns the smallest single replacement that changes one text to another. The editor then keeps
 * its cursor and undo history.
 */
export function smallest(before: string, after: string): Edit {
  let start = 0;
  const most = Math.min(before.length, after.length);
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  let end = 0;
  while (
    end < most - start &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  )
    end += 1;
  return { from: start, to: before.length - end, text: after.slice(start, after.length - end) };
}
