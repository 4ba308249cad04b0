import { expect, test } from 'vitest';
import { lastMinute, points, rate } from './traffic';

test('a rate leaves out the second that has begun', () => {
  const counts = { total: 100, per_second: [9, 9, 0, 2, 4, 6, 8, 50] };
  expect(rate(counts)).toBe(4);
  expect(lastMinute(counts)).toBe(88);
  expect(rate({ total: 0, per_second: [] })).toBe(0);
});

test('the highest count touches the upper edge', () => {
  expect(points({ total: 3, per_second: [0, 2, 1, 7] }, 10, 4)).toBe('0.0,4.0 5.0,0.0 10.0,2.0');
  expect(points({ total: 0, per_second: [0, 0, 0] }, 10, 4)).toBe('0.0,4.0 10.0,4.0');
});
