import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api } from '../../app/http.ts';
import type { PathList } from '../../app/types.ts';

/** Where the files of a message are: a task's workspace, or the project of a new task. null: there are none. */
export type PathSource = { taskId: string } | { hostId: string; project: string; branch: string } | null;

const typingMs = 120;

/** The files that match best. */
export function useFound(source: PathSource, query: string) {
  const [searched, setSearched] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSearched(query), typingMs);
    return () => clearTimeout(timer);
  }, [query]);
  return useQuery({
    queryKey: ['paths', source, searched],
    enabled: source !== null,
    staleTime: 5000,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => api<PathList>('GET', pathOf(source, searched), undefined, signal),
  });
}

function pathOf(source: PathSource, q: string): string {
  if (source === null) throw new Error('no source of files');
  if ('taskId' in source) return `/api/tasks/${source.taskId}/paths?${new URLSearchParams({ q })}`;
  return `/api/paths?${new URLSearchParams({ ...source, q })}`;
}
