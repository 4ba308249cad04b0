// @vitest-environment happy-dom
// The search of a decision: folded statements have the word of their kind.
import { render } from 'preact';
import { expect, test } from 'vitest';
import { language } from '../../state/prefs';
import { Search } from './Search';
import type { TableKind } from './trace';

function drawn(kind: TableKind, table: string): HTMLElement {
  const routes = Array.from({ length: 20 }, (_, index) => ({
    route: `r${index}`,
    result: 'false' as const,
    chosen: false,
    priority: 0,
    to: '',
    when: { kind: 'test' as const, text: 'a', result: 'false' as const },
  }));
  const root = document.createElement('div');
  render(<Search trace={{ table, kind, chose: false, routes, not_tried: 0 }} />, root);
  return root;
}

test('folded statements are called by the word of their kind, in both languages', () => {
  const folded = (kind: TableKind): string | undefined =>
    drawn(kind, 'mine').querySelector('.folded')?.textContent ?? undefined;
  language.value = 'en';
  expect(folded('routes')).toBe('18 routes that did not hold');
  expect(folded('choice')).toBe('18 branches that did not hold');
  expect(folded('flows')).toBe('18 flows that did not match');
  language.value = 'zh';
  expect(folded('flows')).toBe('18 个不匹配的流程');
  expect(folded('router')).toBe('18 个不成立的情形');
});

test('a table that is called by its kind has no word for its kind', () => {
  language.value = 'en';
  const head = (table: string): string | undefined =>
    drawn('flows', table).querySelector('.search-head > span')?.textContent.trim();
  expect(head('flows')).toBe('flows');
  expect(head('talk')).toBe('flows talk');
});
