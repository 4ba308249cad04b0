// Computes the rows of a long list to render: the visible ones and a few around them, within the
// browser's height limit.

/** Maximum height, in pixels, that every browser can scroll. */
const MAX_HEIGHT = 8_000_000;

export interface Window {
  /** First row to render, and the row after the last one (`end`). */
  start: number;
  end: number;
  /** Height of all rows, in pixels. */
  height: number;
  /** Returns the distance of a row from the top, in pixels. */
  top: (row: number) => number;
}

/**
 * Returns the rows that are visible at `scrollTop`, of `count` rows of `rowHeight` pixels. If the
 * total height exceeds what browsers scroll, one pixel of scrolling moves more than one pixel of
 * rows.
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
