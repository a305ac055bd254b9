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

/** Groups tasks by who has to act, then by day. Each group keeps the order; empty groups are left out. */
export function groupsOf(listed: readonly ListedTask[], now: Date): TaskGroup[] {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const labelOf = ({ task, status }: ListedTask): (typeof labels)[number] => {
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
