import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { api, describe } from '../app/http.ts';
import type { Task } from '../app/types.ts';
import { toast } from '../ui/toast.tsx';
import { isUnread } from './status.ts';
import { findTask, newer, patchTask, type TaskPage } from './cache.ts';

export function useTasks(q: string, archived: boolean) {
  return useInfiniteQuery({
    queryKey: ['tasks', { q, archived }],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: '50', archived: String(archived) });
      if (q) query.set('q', q);
      if (pageParam) query.set('cursor', pageParam);
      return api<TaskPage>('GET', `/api/tasks?${query}`, undefined, signal);
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

export interface NewTask {
  title: string;
  agent?: string;
  project?: string;
  hostId?: string;
}

export function useCreateTask() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (task: NewTask) => api<Task>('POST', '/api/tasks', task),
    onSuccess: (task) => {
      client.setQueryData(['task', task.id], task);
      void client.invalidateQueries({ queryKey: ['tasks'] });
    },
  });
}

/** Changes title or archive at once, and takes it back when the server refuses. */
export function useUpdateTask() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...change }: { id: string; title?: string; archived?: boolean }) => {
      const known = findTask(client, id);
      // A new title is no news to whoever wrote it.
      const readRev = known && !isUnread(known) ? { readRev: known.rev } : {};
      return api<Task>('PATCH', `/api/tasks/${id}`, { ...readRev, ...change });
    },
    onMutate: ({ id, ...change }) => {
      const before = findTask(client, id);
      patchTask(client, id, change);
      return { before };
    },
    onError: (error, { id, ...change }, context) => {
      // Only what was changed here goes back: the rest may have moved on meanwhile.
      if (context?.before) patchTask(client, id, takeBack(change, context.before));
      toast(`Not saved: ${describe(error).message}`);
      void client.invalidateQueries({ queryKey: ['tasks'] });
    },
    onSuccess: (task, change) => {
      patchTask(client, task.id, task);
      if (change.archived !== undefined) void client.invalidateQueries({ queryKey: ['tasks'] });
    },
  });
}

function takeBack(change: { title?: string; archived?: boolean }, before: Task): Partial<Task> {
  return { ...(change.title !== undefined && { title: before.title }), ...(change.archived !== undefined && { archived: before.archived }) };
}

/** Marks a task as read. Failing is no news to anybody: the next look at the task marks it. */
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

/** Deleting cannot be undone on the server, so it waits here until the offer to undo is over. */
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

export function useDeleteTask() {
  const client = useQueryClient();
  return (task: Task) => {
    setHidden((ids) => ids.add(task.id));
    const commit = () => {
      clearTimeout(timer);
      removeEventListener('pagehide', commit);
      api('DELETE', `/api/tasks/${task.id}`).then(
        () => void client.invalidateQueries({ queryKey: ['tasks'] }),
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
