// Texts of the page in each language. The tables share a type, so a missing text is a compile
// error.
import { language } from '../state/prefs';
import { en } from './en';
import * as history from './history';
import * as coverage from './coverage';
import * as live from './live';
import { zh } from './zh';

export type Strings = typeof en;
type Texts = Strings & { history: typeof history.en; live: typeof live.en; coverage: typeof coverage.en };

const TABLES: Record<'en' | 'zh', Texts> = {
  en: { ...en, history: history.en, live: live.en, coverage: coverage.en },
  zh: { ...zh, history: history.zh, live: live.zh, coverage: coverage.zh },
};

/**
 * Returns the texts in the chosen language. Call it while rendering, so that the page follows a
 * change of language.
 */
export function t(): Texts {
  return TABLES[language.value];
}

/**
 * Returns the word for a kind (such as "route"), to show next to a name; null if the name is the
 * same word.
 */
export function kindBeside(name: string, kind: string): string | null {
  return kind === name ? null : kind;
}

/** Formats a number in the chosen language. */
export function number(value: number): string {
  return value.toLocaleString(language.value === 'zh' ? 'zh-CN' : 'en-GB');
}

/** Formats a number with two significant digits and a word, such as “2.1 trillion”. */
export function about(value: number): string {
  const style = { notation: 'compact', compactDisplay: 'long', maximumSignificantDigits: 2 } as const;
  return value.toLocaleString(language.value === 'zh' ? 'zh-CN' : 'en-GB', style);
}

/** Formats a fraction of a whole as a percentage. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–';
  const share = (100 * part) / whole;
  return `${share > 0 && share < 0.1 ? '<0.1' : share.toFixed(1)}%`;
}

/** Formats a time in UTC, the time zone that rules use. */
export function moment(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('T', ' ').slice(0, 19);
}

/** Formats microseconds in a readable unit. */
export function micros(value: number): string {
  if (value < 1000) return `${number(value)} µs`;
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)} ms`;
  return `${(value / 1_000_000).toFixed(2)} s`;
}
