// The words of the page: two tables of one type, so that a word that one language lacks is an error of compiling.
import { language } from '../state/prefs';
import { en } from './en';
import { zh } from './zh';

export type Strings = typeof en;

const TABLES: Record<'en' | 'zh', Strings> = { en, zh };

/** The words in the chosen language. Read while drawing, so that the page follows a change of it. */
export function t(): Strings {
  return TABLES[language.value];
}

/** A number as the chosen language writes it. */
export function number(value: number): string {
  return value.toLocaleString(language.value === 'zh' ? 'zh-CN' : 'en-GB');
}

/** A share of a whole. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–';
  const share = (100 * part) / whole;
  return `${share > 0 && share < 0.1 ? '<0.1' : share.toFixed(1)}%`;
}

/** A moment, in UTC as rules reckon. */
export function moment(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('T', ' ').slice(0, 19);
}

/** Microseconds in a unit that is easily read. */
export function micros(value: number): string {
  if (value < 1000) return `${number(value)} µs`;
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)} ms`;
  return `${(value / 1_000_000).toFixed(2)} s`;
}
