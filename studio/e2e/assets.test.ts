// Size limit of the page: all files together, compressed.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const DIST = join(import.meta.dirname, '../../crates/studio/dist');

test('all assets are below 600 KB compressed', () => {
  const files = readdirSync(DIST, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const sizes = files.map((file) => gzipSync(readFileSync(join(file.parentPath, file.name))).length);
  expect(sizes.length).toBeGreaterThan(3);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(600_000);
});
