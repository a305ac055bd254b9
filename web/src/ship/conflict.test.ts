import { expect, test } from 'vitest';
import { mergePrompt, pushState } from './conflict.ts';

test('the agent is asked to merge the branch that has other commits', () => {
  const diverged = mergePrompt('bellhop/1', { base: 'main', diverged: 'c0ffee' }, false);
  expect(diverged).toContain('Run "git fetch origin", then "git merge origin/bellhop/1". ');
  const moved = mergePrompt('bellhop/1', { base: 'main', baseMoved: true }, true);
  expect(moved).toContain('The commits are in your repository already. Run "git merge origin/main". ');
  const both = mergePrompt('bellhop/1', { base: 'main', baseMoved: true, diverged: 'c0ffee' }, true);
  expect(both).toContain('Please merge the branches bellhop/1 and main of');
  expect(both).toContain('Run "git merge origin/bellhop/1", then "git merge origin/main". ');
  expect(mergePrompt('main', { base: 'main', baseMoved: true, diverged: 'c0ffee' }, true)).toContain(
    'the branch main of',
  );
});

test('what is not pushed is counted', () => {
  expect(pushState({ ahead: 0 })).toBe('');
  expect(pushState({ ahead: 1, pushed: 'c0ffee' })).toBe('1 commit is not pushed');
  expect(pushState({ ahead: 2 })).toBe('2 commits are not pushed');
  expect(pushState({ ahead: 0, pushed: 'c0ffee' })).toBe('Pushed');
});
