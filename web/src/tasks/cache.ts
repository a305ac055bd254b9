import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import { changeCached } from '../app/cached.ts';
import { api } from '../app/http.ts';
import type { Task, TaskHint } from '../app/types.ts';

export interface TaskPage {
  tasks: Task[];
  nextCursor: string;
}

type Pages = InfiniteData<TaskPage, string>;

export function findTask(client: QueryClient, id: string): Task | undefined {
  const page = client.getQueryData<Task>(['task', id]);
  if (page) return page;
  for (const row of listed(client)) if (row.id === id) return row;
  return undefined;
}

/** Yields the tasks of all cached lists, each once. */
export function* cachedTasks(client: QueryClient): Generator<Task> {
  yield* new Map([...listed(client)].map((row) => [row.id, row])).values();
}

/** Yields the rows of all cached lists. A task can be in several of them. */
function* listed(client: QueryClient): Generator<Task> {
  for (const [, data] of client.getQueriesData<Pages>({ queryKey: ['tasks'] })) {
    for (const page of data?.pages ?? []) yield* page.tasks;
  }
}

/** Updates a task in every cached query. An older rev never replaces a newer one. */
export function patchTask(client: QueryClient, id: string, change: Partial<Task>) {
  changeCached<Task>(client, ['task', id], (task) => applied(task, change));
  patchList(client, id, change);
}

function applied(task: Task, change: Partial<Task>): Task {
  if (change.rev !== undefined && change.rev < task.rev) return task;
  const next = { ...task, ...change };
  if (change.id && !change.queue) delete next.queue; // a whole row without queued messages has no member for them
  return next;
}

function patchList(client: QueryClient, id: string, change: Partial<Task>) {
  changeCached<Pages>(client, ['tasks'], (data) =>
    data.pages.some((p) => p.tasks.some((t) => t.id === id))
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

/** Returns a page of a list. A row that got a later rev from the feed while the page was read stays as it is. */
export function newerRows(client: QueryClient, read: TaskPage): TaskPage {
  const newest = new Map(read.tasks.map((row) => [row.id, row]));
  for (const known of listed(client)) {
    const row = newest.get(known.id);
    if (row && known.rev > row.rev) newest.set(known.id, known);
  }
  return { ...read, tasks: [...newest.values()] };
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
  if (changesState(before, hint)) scheduleFiltered(client);
  changeCached<Task>(client, ['task', taskId], (task) => (rev >= task.rev ? { ...task, ...change } : task));
  return before;
}

/** Reports whether the hint is about a turn that a cached row does not have yet. All rows are asked, because the page
 * of a task can know of the end of a turn before the lists do. */
export function lacksTurn(client: QueryClient, hint: TaskHint): boolean {
  const page = client.getQueryData<Task>(['task', hint.taskId]);
  const rows = [...listed(client)].filter((row) => row.id === hint.taskId);
  return [...(page ? [page] : []), ...rows].some(
    (row) =>
      row.rev <= hint.rev &&
      (row.agentStatus !== hint.agentStatus ||
        row.reason !== hint.reason ||
        (row.openTurn !== null && hint.agentStatus === 'idle' && hint.reason !== 'waiting')),
  );
}

/** Reads the task, because a hint has neither its title nor its turns. */
export function refreshTask(client: QueryClient, id: string) {
  if (!findTask(client, id)) return;
  api<Task>('GET', `/api/tasks/${id}`).then(
    (task) => patchTask(client, id, task),
    () => undefined, // The next change of the task, or the next focus of the page, reads it again.
  );
}

const changesState = (before: Task, hint: TaskHint) =>
  before.agentStatus !== hint.agentStatus ||
  before.reason !== hint.reason ||
  before.openInteractions !== hint.openInteractions;

let scheduled: ReturnType<typeof setTimeout> | undefined;

function scheduleList(client: QueryClient) {
  if (scheduled) return;
  scheduled = setTimeout(() => {
    scheduled = undefined;
    void client.invalidateQueries({ queryKey: ['tasks'] });
  }, 300);
}

/** Reads the lists of one state again: a task that comes into it is not among their rows. */
function scheduleFiltered(client: QueryClient) {
  const filtered = client.getQueryCache().findAll({ queryKey: ['tasks'], type: 'active' });
  if (filtered.some((query) => (query.queryKey[1] as { state?: string }).state)) scheduleList(client);
}
