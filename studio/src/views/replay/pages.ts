// Rows of a long table, fetched in pages when they become visible.

export const PAGE = 200;

/** Returns the pages that contain the rows from `start` up to but not including `end`. */
export function pagesOf(start: number, end: number): number[] {
  const first = Math.floor(start / PAGE);
  const last = Math.floor(Math.max(start, end - 1) / PAGE);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Fetched pages. Only the latest ones are kept, to bound memory use. */
export class Pages<Row> {
  readonly #pages = new Map<number, Row[]>();
  readonly #asked = new Set<number>();

  row(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Returns the pages of a window that were not requested yet, and marks them as requested. */
  missing(start: number, end: number): number[] {
    const pages = pagesOf(start, end).filter((page) => !this.#pages.has(page) && !this.#asked.has(page));
    for (const page of pages) this.#asked.add(page);
    return pages;
  }

  put(page: number, rows: Row[]): void {
    this.#asked.delete(page);
    this.#pages.set(page, rows);
    const oldest = this.#pages.keys().next();
    if (this.#pages.size > 40 && oldest.value !== undefined) this.#pages.delete(oldest.value);
  }

  forget(page: number): void {
    this.#asked.delete(page);
  }
}
