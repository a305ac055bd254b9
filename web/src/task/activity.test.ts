import { expect, test } from 'vitest';
import { verbOf } from './activity.tsx';

const turn = { submitted: false, waiting: false, quiet: false, connection: 'none', message: undefined } as const;

test('a quiet turn may go on, and a question of it comes first', () => {
  expect(verbOf({ ...turn, quiet: true })).toBe('Quiet, the agent may go on');
  expect(verbOf({ ...turn, quiet: true, waiting: true })).toBe('Waiting for your answer');
  expect(verbOf(turn)).toBe('Catching up');
});
