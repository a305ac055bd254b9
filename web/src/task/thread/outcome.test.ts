import { describe, expect, it } from 'vitest';
import type { Interaction } from '../../app/types.ts';
import { confirm, row, toolRow } from '../kit.ts';
import { itemsOfTurn } from './merge.ts';
import { outcomeOf } from './outcome.ts';

const resolved = (answer: Interaction['answer'], change: Partial<Interaction> = {}) =>
  confirm({ state: 'resolved', ...(answer && { answer }), ...change });

describe('the outcome of a question', () => {
  it.each<[string, Interaction, string | undefined, string]>([
    ['open', confirm(), undefined, ''],
    ['allowed', resolved({ approved: true, by: 'u1' }), 'Allowed by you', ''],
    [
      'allowed for the session',
      resolved({ approved: true, by: 'u1', remembered: 'make' }),
      'Allowed by you, for this session',
      '',
    ],
    ['denied', resolved({ approved: false, reason: 'no', by: 'u1' }), 'Denied by you', 'no'],
    [
      'denied in the words of an ended turn',
      resolved({ approved: false, reason: 'interrupted', by: 'u1' }),
      'Denied by you',
      'interrupted',
    ],
    ['denied on the host', resolved({ approved: false, by: 'local' }), 'Denied on the agent host', ''],
    [
      'allowed by a program',
      resolved({ approved: true, by: 'stream-token' }),
      'Allowed by a program that reads the stream',
      '',
    ],
    ['a rule', resolved({ approved: false, reason: 'policy: no-rm' }), 'Denied by the rule no-rm', ''],
    ['an answer of a host that does not say whose it is', resolved({ approved: false, reason: 'no' }), 'Denied', 'no'],
    [
      'a stopped turn',
      resolved({ approved: false, reason: 'interrupted' }),
      'Not answered: the turn was stopped first',
      '',
    ],
    ['an expired one', confirm({ state: 'expired' }), 'Not answered before it expired', ''],
    ['an answer', resolved({ text: 'green', by: 'u1' }, { kind: 'ask' }), 'Answered by you', 'green'],
  ])('%s', (_name, question, label, words) => {
    const outcome = outcomeOf(question);
    expect(outcome?.label).toBe(label);
    expect(outcome?.words ?? '').toBe(words);
  });
});

describe('the questions of a turn', () => {
  const group = {
    turnId: 'turn',
    rows: [
      row({ seq: 1, createdAt: '2026-01-02T03:04:05Z' }),
      toolRow(2, { state: 'denied' }),
      row({ seq: 3, createdAt: '2026-01-02T03:04:09Z' }),
    ],
  };
  const kinds = (questions: Interaction[]) => itemsOfTurn(group, undefined, questions).map((i) => i.kind);
  const tool = (questions: Interaction[]) =>
    itemsOfTurn(group, undefined, questions).find((i) => i.kind === 'tool')?.state;

  it('stand where they were asked', () => {
    const ask = confirm({ kind: 'ask', state: 'expired', createdAt: '2026-01-02T03:04:07Z' });
    expect(kinds([ask])).toEqual(['text', 'tool', 'question', 'text']);
  });
  it('belong to the call that they were asked for', () => {
    const asked = resolved({ approved: false, by: 'u1' }, { toolCallId: 'call' });
    expect(kinds([asked])).toEqual(['text', 'tool', 'text']);
    expect(tool([asked])).toBe('denied');
  });
  it('do not let a call look denied that was never answered', () => {
    expect(tool([resolved({ approved: false, reason: 'turn-ended' }, { toolCallId: 'call' })])).toBe('unanswered');
    expect(tool([confirm({ state: 'expired', toolCallId: 'call' })])).toBe('unanswered');
  });
  it('are shown without a call, too', () => {
    expect(kinds([resolved({ approved: true, by: 'u1' })])).toEqual(['text', 'tool', 'text', 'question']);
  });
});
