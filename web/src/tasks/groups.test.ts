import { describe, expect, it } from 'vitest';
import type { Task } from '../app/types.ts';
import { groupsOf } from './groups.ts';
import type { Status } from './status.ts';

const now = new Date(2026, 2, 4, 0, 30);
const listed = (id: string, kind: Status['kind'], minutesAgo: number) => ({
  task: { id, lastActivityAt: new Date(now.getTime() - minutesAgo * 60_000).toISOString() } as Task,
  status: { kind, label: '', tone: 'soft' } as Status,
});

describe('groupsOf', () => {
  it('puts what waits for the user first, then work, then days', () => {
    const groups = groupsOf(
      [
        listed('fresh', 'done', 5),
        listed('work', 'busy', 10),
        listed('asked', 'waiting', 5000),
        listed('yesterday', 'failed', 31),
        listed('new', 'new', 4000),
      ],
      now,
    );
    expect(groups.map((g) => `${g.label}: ${g.tasks.map((t) => t.task.id).join(' ')}`)).toEqual([
      'Needs you: asked',
      'Working: work',
      'Today: fresh',
      'Earlier: yesterday new',
    ]);
    expect(groups.map((g) => g.ended.map((t) => t.id))).toEqual([[], [], ['fresh'], ['yesterday']]);
  });
  it('leaves a task whose row is in use where it is', () => {
    const tasks = [listed('ended', 'done', 5), listed('work', 'busy', 10)];
    const groups = groupsOf(tasks, now, { id: 'ended', label: 'Needs you' });
    expect(groups.map((g) => `${g.label}: ${g.tasks.map((t) => t.task.id).join(' ')}`)).toEqual([
      'Needs you: ended',
      'Working: work',
    ]);
  });
  it('has no empty groups', () => expect(groupsOf([], now)).toEqual([]));
});
