import { expect, test } from 'vitest';
import { mergePrompt, pushState } from './conflict.ts';

test('the agent is asked to merge the branch that has other commits', () => {
  expect(mergePrompt('bellhop/1', { base: 'main', diverged: 'c0ffee' })).toContain('git merge origin/bellhop/1"');
  expect(mergePrompt('bellhop/1', { base: 'main' })).toContain('git merge origin/main"');
});

test('what is not pushed is counted', () => {
  expect(pushState({ ahead: 0 })).toBe('');
  expect(pushState({ ahead: 1, pushed: 'c0ffee' })).toBe('1 commit is not pushed');
  expect(pushState({ ahead: 2 })).toBe('2 commits are not pushed');
  expect(pushState({ ahead: 0, pushed: 'c0ffee' })).toBe('Pushed');
});
