// Which rows of a long list are drawn: those in sight and a few around them, and no more than a browser can lay out.

/** The greatest height that every browser still scrolls. */
const MAX_HEIGHT = 8_000_000;

export interface Window {
  /** The first row to draw, and the one after the last. */
  start: number;
  end: number;
  /** The height of all rows, in pixels. */
  height: number;
  /** Where a row lies, in pixels from the top. */
  top: (row: number) => number;
}

/**
 * The window of `count` rows of `rowHeight` pixels that is in sight at `scrollTop`. Where all rows together would be
 * higher than a browser scrolls, a pixel of scrolling stands for more than one.
 */
export function windowOf(count: number, rowHeight: number, scrollTop: number, sight: number): Window {
  const full = count * rowHeight;
  const height = Math.min(full, MAX_HEIGHT);
  const range = Math.max(height - sight, 1);
  const offset = full > height ? (Math.min(scrollTop, range) / range) * (full - sight) : scrollTop;
  const start = Math.max(0, Math.floor(offset / rowHeight) - 6);
  const end = Math.min(count, Math.ceil((offset + sight) / rowHeight) + 6);
  return { start, end, height, top: (row) => row * rowHeight - offset + scrollTop };
}
