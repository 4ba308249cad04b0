// Decides the message that the view Decide shows, with the rules on disk and with the edited rules.
import { signal } from '@preact/signals';
import type { Decision } from '../../api/types';
import { api } from '../../client';
import { rules } from '../../state/studio';
import { entryInfo, question } from '../decide/state';

export interface AtHand {
  message: string;
  before: Decision;
  after: Decision;
}

export const atHand = signal<AtHand | null>(null);

/** Decides the message of the view Decide by both versions; without a message, clears the result. */
export async function compareAtHand(): Promise<void> {
  atHand.value = null;
  const asked = question.peek();
  if (!entryInfo.peek()) return;
  const decide = async (draft: boolean): Promise<Decision | null> => {
    const answer = await api.decide({ ...asked, version: { rules: rules.peek(), draft } }).catch(() => null);
    return answer?.kind === 'decision' ? answer : null;
  };
  const [before, after] = await Promise.all([decide(false), decide(true)]);
  if (before && after) atHand.value = { message: asked.message, before, after };
}
