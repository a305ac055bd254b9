import { describe, expect, it } from 'vitest';
import type { Task } from '../../app/types.ts';
import { matching, optionOf, tasksLike } from './commands.ts';

const task = (id: string, more: Partial<Task>): Task =>
  ({ id, agent: 'claude', project: 'shop', hostId: 'h1', lastTurn: {}, lastActivityAt: id, ...more }) as Task;

describe('slash commands', () => {
  it('are found by their names, the best first', () => {
    const names = (query: string) =>
      matching(['pr-review', 'review-pr', 'review'].map(named), query).map((c) => c.name);
    expect(names('')).toEqual(['pr-review', 'review-pr', 'review']);
    expect(names('review')).toEqual(['review', 'review-pr', 'pr-review']);
    expect(names('REVIEW-')).toEqual(['review-pr']);
    expect(names('x')).toEqual([]);
    expect(
      matching(
        Array.from({ length: 80 }, (_, i) => named(`c${i}`)),
        'c',
      ),
    ).toHaveLength(50);
  });

  it('are shown with what can follow them', () => {
    expect(optionOf({ name: 'init' })).toEqual({ value: 'init', label: '/init' });
    expect(optionOf({ name: 'web', description: 'Searches', arguments: '[words]' })).toEqual({
      value: 'web',
      label: '/web [words]',
      note: 'Searches',
    });
  });

  it('are those of the task, or of the last ones of its agent and project', () => {
    const tasks = [
      task('1', {}),
      task('9', { agent: 'codex' }),
      task('8', { project: 'other' }),
      task('4', { lastTurn: null }),
      task('5', { hostId: 'h2' }),
      task('6', {}),
      task('7', {}),
    ];
    const claude = { agent: 'claude', project: 'shop', hostId: '' };
    expect(tasksLike(tasks, claude)).toEqual(['7', '6', '5']);
    expect(tasksLike(tasks, { ...claude, hostId: 'h1' }, '4')).toEqual(['4', '7', '6']);
    expect(tasksLike(tasks, { ...claude, agent: 'gemini' })).toEqual([]);
  });
});

const named = (name: string) => ({ name });
