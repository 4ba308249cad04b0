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

function firstLanguage(): Language {
  const language = kept('language');
  if (language === 'en' || language === 'zh') return language;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export const theme = signal<Theme>(firstTheme());
export const language = signal<Language>(firstLanguage());
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
