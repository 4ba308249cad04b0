// Edits of a text, as fixes have them.

export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** The text after all edits, whose places are those of the text before. */
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

/** The smallest single replacement that makes one text of another, so that an editor keeps its place and its history. */
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
