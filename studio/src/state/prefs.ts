// User preferences: theme, language, single-key shortcuts. They are kept in the browser's local
// storage.
import { computed, effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
export type Language = 'en' | 'zh';

function kept(key: string): string | null {
  try {
    return localStorage.getItem(`rulec.${key}`);
  } catch {
    return null; // The browser may forbid storage; preferences then last until the page closes.
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(`rulec.${key}`, value);
  } catch {
    // See `kept`.
  }
}

function firstTheme(): Theme {
  const theme = kept('theme');
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

const keptLanguage = kept('language');

function firstLanguage(): Language {
  if (keptLanguage === 'en' || keptLanguage === 'zh') return keptLanguage;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export const theme = signal<Theme>(firstTheme());
export const language = signal<Language>(firstLanguage());
/** Applies the language of the command line, unless the user has chosen one in this browser. */
export function begin(wanted: string | null): void {
  if (keptLanguage === null && (wanted === 'en' || wanted === 'zh')) language.value = wanted;
}

export const shortcuts = signal(kept('shortcuts') !== 'off');

const systemDark = signal(false);

/** Whether the page is in dark mode. */
export const dark = computed(() => theme.value === 'dark' || (theme.value === 'system' && systemDark.value));

/** Applies the preferences to the root element and stores them, now and on every change. */
export function applyPreferences(): void {
  const query = matchMedia('(prefers-color-scheme: dark)');
  systemDark.value = query.matches;
  query.addEventListener('change', (event) => (systemDark.value = event.matches));
  effect(() => {
    document.documentElement.dataset.theme = dark.value ? 'dark' : 'light';
    keep('theme', theme.value);
  });
  effect(() => {
    document.documentElement.lang = language.value === 'zh' ? 'zh-CN' : 'en';
    keep('language', language.value);
  });
  effect(() => keep('shortcuts', shortcuts.value ? 'on' : 'off'));
}
