// @vitest-environment happy-dom
// Rendering of components: hostile texts stay text, masked values stay masked, and signs accompany
// colours.
import { render } from 'preact';
import { expect, test } from 'vitest';
import type { TraceNode } from '../api/types';
import { language } from '../state/prefs';
import { Condition } from '../views/decide/Condition';
import { hunks } from './Diff';

function drawn(node: TraceNode): HTMLElement {
  const root = document.createElement('ul');
  render(<Condition node={node} />, root);
  return root;
}

test('a condition shows values as text, masked ones not at all, and its answer as a sign and a word', () => {
  language.value = 'en';
  const root = drawn({
    kind: 'test',
    text: 'text contains "<b>"',
    result: 'unknown',
    operands: [
      { text: 'text', value: '<img src=x onerror=alert(1)>' },
      { text: 'ctx.phone', masked: true, value: 'never shown' },
      { text: 'ctx.n', missing: true },
    ],
    because: ['ctx.n is missing'],
  });
  expect(root.querySelector('img, b > *')).toBeNull();
  expect(root.textContent).toContain('<img src=x');
  expect(root.textContent).toContain('•••');
  expect(root.textContent).not.toContain('never shown');
  expect(root.querySelector('.mark')?.textContent).toBe('?unknown: a value is missing or of another type');
});

test('the same condition in Chinese has no English word of the page', () => {
  language.value = 'zh';
  const root = drawn({
    kind: 'and',
    text: 'a and b',
    result: 'false',
    children: [{ kind: 'test', text: 'a', result: 'false' }],
  });
  expect(root.textContent).toContain('全部');
  expect(root.textContent).not.toMatch(/holds|all of/);
});

test('a difference leaves out lines that are far from every change', () => {
  const same = (text: string): { kind: 'same'; text: string } => ({ kind: 'same', text });
  const lines = [
    ...Array.from({ length: 20 }, (_, index) => same(`${index}`)),
    { kind: 'added' as const, text: 'new' },
    same('end'),
  ];
  const shown = hunks(lines);
  expect(shown[0]).toBeNull();
  expect(shown.filter((line) => line !== null).map((line) => line.text)).toEqual([
    '17',
    '18',
    '19',
    'new',
    'end',
  ]);
});
