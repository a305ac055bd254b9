import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { api } from '../app/http.ts';
import type { FileContent, FileList, FileMatches, Task } from '../app/types.ts';

/**
 * Files are read again after each turn, because the agent may have changed them. The rows before stay
 * meanwhile: without them the focus would be lost.
 */
const keyOf = (task: Task) => [task.id, task.lastTurn?.id ?? ''] as const;

/** The key of everything that was read of a task's files. */
export const filesKey = (task: Task) => ['files', task.id] as const;

/** A directory of the task's workspace, in pages; "" is the workspace. */
export function useDirectory(task: Task, path: string) {
  return useInfiniteQuery({
    queryKey: ['files', ...keyOf(task), 'directory', path],
    initialPageParam: '',
    queryFn: ({ pageParam: after, signal }) =>
      api<FileList>('GET', `/api/tasks/${task.id}/files?${new URLSearchParams({ path, after })}`, undefined, signal),
    getNextPageParam: (last) => last.next || undefined,
    placeholderData: keepPreviousData,
  });
}

/** A file of the task's workspace, in pieces. */
export function useFile(task: Task, path: string) {
  return useInfiniteQuery({
    queryKey: ['files', ...keyOf(task), 'file', path],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ path, offset: String(pageParam) });
      return api<FileContent>('GET', `/api/tasks/${task.id}/file?${query}`, undefined, signal);
    },
    getNextPageParam: (last) => (last.more ? last.end : undefined),
    placeholderData: keepPreviousData,
  });
}

export interface TextSearch {
  q: string;
  regexp: boolean;
  matchCase: boolean;
}

/** The lines of the workspace's files that a search finds. Leaving the search cancels it. */
export function useMatches(task: Task, { q, regexp, matchCase }: TextSearch) {
  return useQuery({
    queryKey: ['files', ...keyOf(task), 'search', q, regexp, matchCase],
    enabled: q !== '',
    retry: false,
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ q, regexp: String(regexp), case: String(matchCase) });
      return api<FileMatches>('GET', `/api/tasks/${task.id}/search?${query}`, undefined, signal);
    },
  });
}
