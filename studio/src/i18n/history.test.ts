// Texts about the history: singular and plural.
import { expect, test } from 'vitest';
import { en } from './history';

test('one message is singular', () => {
  expect(en.replayObserved(1)).toBe('1 message was only recorded in the history.');
  expect(en.replayObserved(1200)).toBe('1,200 messages were only recorded in the history.');
  expect(en.replayUnrecorded(1)).toContain('1 message was decided');
  expect(en.older(1)).toContain('One still older message of this session is left out');
});
