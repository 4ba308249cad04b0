// Rows of a long table, fetched page by page as they come into sight.

export const PAGE = 200;

/** The pages that hold the rows from `start` to before `end`. */
export function pagesOf(start: number, end: number): number[] {
  const first = Math.floor(start / PAGE);
  const last = Math.floor(Math.max(start, end - 1) / PAGE);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Pages that were fetched: the latest ones, so that memory stays small however far one scrolls. */
export class Pages<Row> {
  readonly #pages = new Map<number, Row[]>();
  readonly #asked = new Set<number>();

  row(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** The pages of a window that have not been asked for; they count as asked for from now on. */
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
