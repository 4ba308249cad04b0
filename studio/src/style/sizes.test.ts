// Text has three sizes: small, body and large.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SIZE = /var\(--(small|body|large)\)|inherit/;

test('every size of text is one of the three', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.css'));
  const sizes = files.flatMap((name) => {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8');
    return [...text.matchAll(/\bfont(?:-size)?: ([^;]+);/g)].map((match) => `${name}: ${match[1] ?? ''}`);
  });
  expect(sizes.length).toBeGreaterThan(20);
  expect(sizes.filter((size) => !SIZE.test(size))).toEqual([]);
});
