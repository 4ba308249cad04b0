// @vitest-environment happy-dom
// The signs of coverage next to the lines of a file.
import { expect, test } from 'vitest';
import { coverageSigns } from './coverage';

test('the coverage of a line counts all its items, in one file', () => {
  const item = (line: number, tried: number, gap: string | null, file = 'a.rules') => ({
    what: 'condition',
    name: `c${line}`,
    file,
    line,
    tried,
    yes: 0,
    no: tried,
    gap,
  });
  const signs = coverageSigns(
    [
      item(1, 2, null),
      item(1, 2, 'never true'),
      item(2, 0, 'never tried'),
      item(3, 9, null),
      item(4, 1, null, 'b'),
    ],
    'a.rules',
  );
  expect(signs.map((sign) => [sign.line, sign.sign])).toEqual([
    [1, '◐'],
    [2, '○'],
    [3, '●'],
  ]);
  expect(signs[0]?.words).toContain('c1: never true');
});
