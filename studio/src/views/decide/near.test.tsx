// @vitest-environment happy-dom
// Near misses: what a change shows of a private value.
import { render } from 'preact';
import { expect, test } from 'vitest';
import type { NearField } from '../../api/types';
import { language } from '../../state/prefs';
import { Change } from './NearMisses';

function drawn(values: Pick<NearField, 'is' | 'would_be'>): string | null {
  language.value = 'en';
  const root = document.createElement('div');
  render(<Change field={{ field: 'ctx.user', needs: [], private: true, ...values }} />, root);
  return root.textContent;
}

test('a record with a private field shows its other fields', () => {
  const user = { id: 'u1', role: 'guest', phone: '•••' };
  expect(drawn({ is: null, would_be: user })).toBe(`ctx.usermissing→becomes${JSON.stringify(user)}`);
});

test('a private value is called private', () => {
  expect(drawn({ is: '•••', would_be: '•••' })).toBe('ctx.userprivate→becomesprivate');
});
