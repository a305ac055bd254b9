import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import type { User } from '../app/types.ts';

export interface Account extends User {
  disabledAt: string | null;
  secondFactor: boolean;
}

export function useUsers(enabled: boolean) {
  return useInfiniteQuery({
    queryKey: ['users'],
    enabled,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      api<{ users: Account[]; nextCursor?: string }>(
        'GET',
        `/api/users?${new URLSearchParams({ cursor: pageParam })}`,
        undefined,
        signal,
      ),
    getNextPageParam: (last) => last.nextCursor || undefined,
  });
}

function useUserChange<V>(mutationFn: (value: V) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({ mutationFn, onSettled: () => readAgain(client, ['users']) });
}

export const useSetDisabled = () =>
  useUserChange(({ id, disabled }: { id: string; disabled: boolean }) =>
    api<Account>('PATCH', `/api/users/${id}`, { disabled }),
  );

export const useDeleteUser = () => useUserChange((id: string) => api('DELETE', `/api/users/${id}`));

export const useResetFactor = () => useUserChange((id: string) => api('DELETE', `/api/users/${id}/second-factor`));
