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

/** Changes a task everywhere it is shown. A state of an older rev never replaces a newer one. */
export function patchTask(client: QueryClient, id: string, change: Partial<Task>) {
  const apply = (task: Task): Task => (change.rev !== undefined && change.rev < task.rev ? task : { ...task, ...change });
  client.setQueryData<Task>(['task', id], (task) => task && apply(task));
  client.setQueriesData<Pages>({ queryKey: ['tasks'] }, (data) =>
    data?.pages.some((p) => p.tasks.some((t) => t.id === id))
      ? { ...data, pages: data.pages.map((p) => ({ ...p, tasks: p.tasks.map((t) => (t.id === id ? apply(t) : t)) })) }
      : data,
  );
}

/** Applies a frame of the user's feed; returns the task as it was known. */
export function applyHint(client: QueryClient, hint: TaskHint): Task | undefined {
  const before = findTask(client, hint.taskId);
  if (!before) {
    scheduleList(client);
    return undefined;
  }
  const { taskId, ...change } = hint;
  patchTask(client, taskId, change);
  return before;
}

/** A hint has neither title nor last turn: those are read. */
export function refreshTask(client: QueryClient, id: string) {
  if (!findTask(client, id)) return;
  api<Task>('GET', `/api/tasks/${id}`).then(
    (task) => patchTask(client, id, task),
    () => undefined, // the next change or focus reads it
  );
}

let scheduled: ReturnType<typeof setTimeout> | undefined;

function scheduleList(client: QueryClient) {
  scheduled ??= setTimeout(() => {
    scheduled = undefined;
    void client.invalidateQueries({ queryKey: ['tasks'] });
  }, 300);
}
