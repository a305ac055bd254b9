import type { Task } from '../app/types.ts';
import type { Status } from './status.ts';

export interface ListedTask {
  task: Task;
  status: Status;
}

export interface TaskGroup {
  label: string;
  tasks: ListedTask[];
  /** Those whose turn has ended, so that they can be archived together. */
  ended: Task[];
}

const labels = ['Needs you', 'Working', 'Today', 'Earlier'] as const;

/** A task whose row is in use, and the group that it stays in meanwhile: in another one it would be another row. */
export interface Held {
  id: string;
  label: string;
}

/** Groups tasks by who has to act, then by day. Each group keeps the order; empty groups are left out. */
export function groupsOf(listed: readonly ListedTask[], now: Date, held: Held | null = null): TaskGroup[] {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const labelOf = ({ task, status }: ListedTask): string => {
    if (held?.id === task.id) return held.label;
    if (status.kind === 'waiting') return 'Needs you';
    if (status.kind === 'busy') return 'Working';
    return Date.parse(task.lastActivityAt) >= midnight ? 'Today' : 'Earlier';
  };
  return labels
    .map((label) => {
      const tasks = listed.filter((one) => labelOf(one) === label);
      return { label, tasks, ended: tasks.filter((one) => ended.has(one.status.kind)).map((one) => one.task) };
    })
    .filter((group) => group.tasks.length > 0);
}

const ended: ReadonlySet<Status['kind']> = new Set(['done', 'stopped', 'failed']);
