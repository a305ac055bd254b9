import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { readAgain } from '../app/again.ts';
import { api, client as broker, describe } from '../app/http.ts';
import type { OfferList, OnlyCopies, PermissionMode, Task } from '../app/types.ts';
import { isolated } from '../ui/bidi.ts';
import { toast } from '../ui/toast.tsx';
import { isUnread } from './status.ts';
import { findTask, newer, newerRows, patchTask, type TaskPage } from './cache.ts';
import { summaryOf } from './onlycopies.ts';

/** What a list of tasks is filtered by; the server knows the state of every task. */
export type TaskState = 'waiting' | 'working' | 'failed';

export function useTasks(q: string, archived: boolean, state: '' | TaskState = '') {
  const client = useQueryClient();
  return useInfiniteQuery({
    queryKey: ['tasks', { q, archived, state }],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: '50', archived: String(archived) });
      if (q) query.set('q', q);
      if (state) query.set('state', state);
      if (pageParam) query.set('cursor', pageParam);
      return newerRows(client, await api<TaskPage>('GET', `/api/tasks?${query}`, undefined, signal));
    },
    getNextPageParam: (last) => last.nextCursor || undefined,
  });
}

export function useTask(id: string) {
  const client = useQueryClient();
  return useQuery({
    queryKey: ['task', id],
    queryFn: async ({ signal }) => newer(client, await api<Task>('GET', `/api/tasks/${id}`, undefined, signal)),
    placeholderData: () => findTask(client, id),
  });
}

/** The agents and projects of the registered hosts, read again each `every` milliseconds. */
export function useOffers(every?: number) {
  return useQuery({
    queryKey: ['offers'],
    staleTime: 30_000,
    refetchInterval: every ?? false,
    queryFn: ({ signal }) => api<OfferList>('GET', '/api/agents', undefined, signal),
  });
}

export interface NewTask {
  title: string;
  agent?: string;
  model?: string;
  project?: string;
  hostId?: string;
  branch?: string;
  workspace?: string;
  permissionMode?: PermissionMode;
}

export function useCreateTask() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (task: NewTask) => api<Task>('POST', '/api/tasks', task),
    onSuccess: (task) => {
      client.setQueryData(['task', task.id], task);
      void readAgain(client, ['tasks']);
      if (task.workspace) void readAgain(client, ['workspaces']);
    },
  });
}

/** What a user changes of a task. */
interface TaskEdit {
  title?: string;
  archived?: boolean;
  model?: string;
  permissionMode?: PermissionMode;
}

/** Changes a task at once, and restores it if the server rejects the change. */
export function useUpdateTask() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...change }: TaskEdit & { id: string }) => {
      const known = findTask(client, id);
      // The user has just written the title, so the task does not become unread.
      const readRev = known && !isUnread(known) ? { readRev: known.rev } : {};
      return api<Task>('PATCH', `/api/tasks/${id}`, { ...readRev, ...change });
    },
    onMutate: ({ id, ...change }) => {
      const before = findTask(client, id);
      patchTask(client, id, change);
      return { before };
    },
    onError: (error, { id, ...change }, context) => {
      // Restore only the changed members: other members may have changed in the meantime.
      if (context?.before) patchTask(client, id, restored(change, context.before));
      toast(`Not saved: ${describe(error).message}`);
      void readAgain(client, ['tasks']);
    },
    onSuccess: (task, change) => {
      patchTask(client, task.id, task);
      if (change.archived !== undefined) void readAgain(client, ['tasks']);
    },
  });
}

function restored(change: TaskEdit, before: Task): Partial<Task> {
  return {
    ...(change.permissionMode && { permissionMode: before.permissionMode ?? 'ask' }),
    ...(change.model && { model: before.model ?? '' }),
    ...(change.title !== undefined && { title: before.title }),
    ...(change.archived !== undefined && { archived: before.archived }),
  };
}

/** Marks a task as read. A failure is ignored: the next view of the task tries again. */
export function useMarkRead() {
  const client = useQueryClient();
  return useCallback(
    (id: string, readRev: number) => {
      api<Task>('PATCH', `/api/tasks/${id}`, { readRev }).then(
        (task) => patchTask(client, id, task),
        () => undefined,
      );
    },
    [client],
  );
}

/**
 * Tasks whose deletion the user can still undo. The server cannot undo a deletion, so the request is sent only after
 * `undoFor` milliseconds.
 */
let hidden: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();
const undoFor = 8_000;

function setHidden(change: (ids: Set<string>) => void) {
  const ids = new Set(hidden);
  change(ids);
  hidden = ids;
  for (const l of listeners) l();
}

export function useHiddenTasks(): ReadonlySet<string> {
  return useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => hidden,
  );
}

/** Returns what follows a deletion: the lists are read again, and the user is told where a workspace is kept. */
export function useAfterDeletion() {
  const client = useQueryClient();
  return ({ id, title, hostId }: Task, kept: OnlyCopies | undefined) => {
    setHidden((ids) => ids.add(id));
    void readAgain(client, ['tasks']);
    if (!kept?.items.length) return;
    const { hosts = [] } = client.getQueryData<OfferList>(['offers']) ?? {};
    const host = hosts.find((h) => h.hostId === hostId)?.name;
    const where = host ? `the host ${isolated(host)}` : 'its host';
    toast(`The workspace of ${isolated(title)} is kept on ${where} (${summaryOf(kept)})`, undefined, 20_000);
  };
}

/** Deletes a task, unless the user undoes it in time. Its host keeps workspaces in which something exists only. */
export function useDeleteTask() {
  const after = useAfterDeletion();
  return (task: Task) => {
    setHidden((ids) => ids.add(task.id));
    const commit = () => {
      clearTimeout(timer);
      removeEventListener('pagehide', commit);
      broker.deleteTask(task.id).then(
        ({ kept }) => after(task, kept),
        (error: unknown) => {
          setHidden((ids) => ids.delete(task.id));
          toast(`“${task.title}” was not deleted: ${describe(error).message}`);
        },
      );
    };
    const timer = setTimeout(commit, undoFor);
    addEventListener('pagehide', commit);
    toast(`Deleted “${task.title}”`, {
      label: 'Undo',
      run: () => {
        clearTimeout(timer);
        removeEventListener('pagehide', commit);
        setHidden((ids) => ids.delete(task.id));
      },
    });
  };
}
