// @vitest-environment happy-dom
// Inputs of the decision table: typed text stays while the page is busy or a response is late.
import { render } from 'preact';
import { expect, test } from 'vitest';
import type { TableRow } from '../../api/types';
import { CellInput } from './Cell';

function row(): TableRow {
  return { key: 'routes/a', name: 'a', to: 'x', cells: [], others: [], findings: [] } as unknown as TableRow;
}

function draw(root: HTMLElement, text: string): HTMLInputElement {
  const change = (changed: string) => ({ kind: 'target' as const, text: changed });
  render(<CellInput row={row()} label="n" text={text} change={change} />, root);
  return root.querySelector('input') as HTMLInputElement;
}

function type(input: HTMLInputElement, text: string): void {
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Ends after the effects of the latest rendering. */
async function drawn(): Promise<void> {
  await new Promise((next) => setTimeout(next, 200));
}

// Regression: an effect of the first rendering set the text back, and Enter then sent nothing.
test('text that is typed before the first effects run stays', async () => {
  const input = draw(document.createElement('div'), '');
  type(input, '> 7');
  await drawn();
  expect(input.value).toBe('> 7');
});

test('text that is typed while a table is awaited stays, and other cells follow the table', async () => {
  const root = document.createElement('div');
  const input = draw(root, '< 5');
  await drawn();
  type(input, '< 8');
  draw(root, '< 7');
  await drawn();
  expect(input.value).toBe('< 8');
  const other = document.createElement('div');
  draw(other, '< 5');
  draw(other, '< 7');
  await drawn();
  expect(other.querySelector('input')?.value).toBe('< 7');
});
