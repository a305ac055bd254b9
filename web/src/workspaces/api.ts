import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { client } from '../app/http.ts';
import type { Task, WorkspaceState } from '../app/types.ts';

/** The user's workspaces that agents created by name, on every host. */
export function useWorkspaces() {
  return useQuery({
    queryKey: ['workspaces'],
    staleTime: 30_000,
    queryFn: ({ signal }) => client.workspaces(signal),
  });
}

/** What the task's workspace holds; null when its host does not describe it, or no turn has begun. */
export function useTaskWorkspace(task: Task): WorkspaceState | null {
  return (
    useQuery({
      // A turn changes the files, and its start may make the workspace.
      queryKey: ['workspace', task.id, task.lastTurn?.id ?? '', task.openTurn ?? ''],
      placeholderData: keepPreviousData,
      enabled: task.mode === 'agent' && !task.basicHost && Boolean(task.lastTurn || task.openTurn),
      retry: false,
      queryFn: async ({ signal }) => (await client.taskWorkspace(task.id, signal)).workspace,
    }).data ?? null
  );
}
