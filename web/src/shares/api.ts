import type { Share, ShareList } from '@bellhop/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';

/** How long a link can work, in days. */
export const lives = [1, 7, 30] as const;

const day = 86_400;

/** The links that work: of a task, or of all tasks of the user. */
export function useShares(taskId?: string) {
  const path = taskId ? `/api/tasks/${taskId}/shares` : '/api/shares';
  return useQuery({
    queryKey: ['shares', taskId ?? ''],
    staleTime: 60_000,
    queryFn: async ({ signal }) => (await api<ShareList>('GET', path, undefined, signal)).shares,
  });
}

export function useCreateShare(taskId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (days: number) => api<Share>('POST', `/api/tasks/${taskId}/shares`, { expiresIn: days * day }),
    onSettled: () => readAgain(client, ['shares']),
  });
}

export function useRevokeShare() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('DELETE', `/api/shares/${id}`),
    onSettled: () => readAgain(client, ['shares']),
  });
}
