import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import { api } from '../app/http.ts';
import type { Task, TaskHint } from '../app/types.ts';

export interface TaskPage {
  tasks: Task[];
  nextCursor: string;
}

type Pages = InfiniteData<TaskPage, string>;

export function findTask(client: QueryClient, id: string): Task | undefined {
  const single = client.getQueryData<Task>(['task', id]);
  if (single) return single;
  for (const [, data] of client.getQueriesData<Pages>({ queryKey: ['tasks'] })) {
    for (const page of data?.pages ?? []) {
      const found = page.tasks.find((t) => t.id === id);
      if (found) return found;
    }
  }
  return undefined;
}

/** Updates a task in every cached query. An older rev never replaces a newer one. */
export function patchTask(client: QueryClient, id: string, change: Partial<Task>) {
  client.setQueryData<Task>(['task', id], (task) => task && applied(task, change));
  patchList(client, id, change);
}

function applied(task: Task, change: Partial<Task>): Task {
  return change.rev !== undefined && change.rev < task.rev ? task : { ...task, ...change };
}

function patchList(client: QueryClient, id: string, change: Partial<Task>) {
  client.setQueriesData<Pages>({ queryKey: ['tasks'] }, (data) =>
    data?.pages.some((p) => p.tasks.some((t) => t.id === id))
      ? {
          ...data,
          pages: data.pages.map((p) => ({ ...p, tasks: p.tasks.map((t) => (t.id === id ? applied(t, change) : t)) })),
        }
      : data,
  );
}

/** Returns the task that a request read, unless the cache got a later rev from the feed meanwhile. */
export function newer(client: QueryClient, read: Task): Task {
  const known = client.getQueryData<Task>(['task', read.id]);
  return known && known.rev > read.rev ? known : read;
}

/** Applies a frame of the user's feed and returns the earlier state of the task. A hint is an incomplete row: the
 * open task gets its rev only with the row itself, because the row would otherwise be dropped as old. */
export function applyHint(client: QueryClient, hint: TaskHint): Task | undefined {
  const before = findTask(client, hint.taskId);
  if (!before) {
    scheduleList(client);
    return undefined;
  }
  const { taskId, rev, ...change } = hint;
  patchList(client, taskId, { rev, ...change });
  client.setQueryData<Task>(['task', taskId], (task) => (task && rev >= task.rev ? { ...task, ...change } : task));
  return before;
}

/** Reads the task, because a hint has neither its title nor its last turn. */
export function refreshTask(client: QueryClient, id: string) {
  if (!findTask(client, id)) return;
  api<Task>('GET', `/api/tasks/${id}`).then(
    (task) => patchTask(client, id, task),
    () => undefined, // The next change of the task, or the next focus of the page, reads it again.
  );
}

let scheduled: ReturnType<typeof setTimeout> | undefined;

function scheduleList(client: QueryClient) {
  if (scheduled) return;
  scheduled = setTimeout(() => {
    scheduled = undefined;
    void client.invalidateQueries({ queryKey: ['tasks'] });
  }, 300);
}
