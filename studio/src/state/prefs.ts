// What a person prefers: theme, language, single-key shortcuts. Kept by the browser under the studio's own keys.
import { computed, effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
export type Language = 'en' | 'zh';

function kept(key: string): string | null {
  try {
    return localStorage.getItem(`rulec.${key}`);
  } catch {
    return null; // A browser may forbid storage; preferences then last as long as the page.
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
/** Takes the language that the command line asks for, where nobody has chosen one in this browser before. */
export function begin(wanted: string | null): void {
  if (keptLanguage === null && (wanted === 'en' || wanted === 'zh')) language.value = wanted;
}

export const shortcuts = signal(kept('shortcuts') !== 'off');

const systemDark = signal(false);

/** True while the page is drawn dark. */
export const dark = computed(() => theme.value === 'dark' || (theme.value === 'system' && systemDark.value));

/** Writes the preferences to the page's root and keeps them, now and whenever they change. */
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
