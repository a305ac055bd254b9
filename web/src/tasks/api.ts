import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { api } from '../app/http.ts';
import type { Task } from '../app/types.ts';
import { describe } from '../app/http.ts';
import { toast } from '../ui/toast.tsx';
import { isUnread } from './status.ts';
import { findTask, patchTask, type TaskPage } from './cache.ts';

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
    queryFn: ({ signal }) => api<Task>('GET', `/api/tasks/${id}`, undefined, signal),
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

/** Changes title, archive or read mark at once, and takes it back when the server refuses. */
export function useUpdateTask() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...change }: { id: string; title?: string; archived?: boolean; readRev?: number }) => {
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
    onError: (error, { id }, context) => {
      if (context?.before) patchTask(client, id, { ...context.before, rev: Number.MAX_SAFE_INTEGER });
      toast(`Not saved: ${describe(error).message}`);
      void client.invalidateQueries({ queryKey: ['tasks'] });
    },
    onSuccess: (task, change) => {
      patchTask(client, task.id, task);
      if (change.archived !== undefined) void client.invalidateQueries({ queryKey: ['tasks'] });
    },
  });
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
