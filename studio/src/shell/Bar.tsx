// The navigation bar, with the title and the preferences. Reports use it too.
import type { ComponentChildren, JSX } from 'preact';
import { t } from '../i18n';
import { Brand } from '../ui/Brand';
import { language, theme, type Theme } from '../state/prefs';

export function Bar({
  title,
  name,
  children,
}: {
  title: string;
  name: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <header class="bar">
      <div class="brand">
        <Brand />
        <h1>{title}</h1>
        <span class="file mono" title={name}>
          {name}
        </span>
      </div>
      {children}
    </header>
  );
}

export function Preferences(): JSX.Element {
  const words = t().shell;
  return (
    <div class="bar-tools preferences">
      <select
        aria-label={words.theme}
        value={theme.value}
        onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
      >
        <option value="system">{words.themes.system}</option>
        <option value="light">{words.themes.light}</option>
        <option value="dark">{words.themes.dark}</option>
      </select>
      <div class="segments" role="group" aria-label={words.language}>
        <button
          type="button"
          lang="en"
          aria-pressed={language.value === 'en'}
          onClick={() => (language.value = 'en')}
        >
          EN
        </button>
        <button
          type="button"
          lang="zh-CN"
          aria-pressed={language.value === 'zh'}
          onClick={() => (language.value = 'zh')}
        >
          中文
        </button>
      </div>
    </div>
  );
}
