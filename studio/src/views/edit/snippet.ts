// Completions with places that the author fills in: Tab moves to the next place.
import { type Completion, snippet } from '@codemirror/autocomplete';
import type { SnippetPart } from '../../api/types';

/**
 * Returns CodeMirror's template of a snippet. Each placeholder has its own number, because
 * CodeMirror changes placeholders with the same name together.
 */
export function template(parts: readonly SnippetPart[]): string {
  let places = 0;
  return parts
    .map(({ text, is_placeholder }) => {
      // CodeMirror allows no braces in the text of a numbered placeholder.
      if (!is_placeholder || /[{}]/.test(text)) return text.replace(/[{}]/g, '\\$&');
      places += 1;
      return `\${${places}:${text}}`;
    })
    .join('');
}

/** Returns how a completion with a snippet is inserted; nothing for one that inserts its label. */
export function insertion(parts: readonly SnippetPart[]): Pick<Completion, 'apply'> {
  return parts.length > 0 ? { apply: snippet(template(parts)) } : {};
}
