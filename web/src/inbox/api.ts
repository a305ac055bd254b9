import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import type { Answer, Interaction } from '../app/types.ts';

export function useOpenInteractions() {
  return useQuery({
    queryKey: ['interactions'],
    queryFn: async ({ signal }) => {
      const { interactions } = await api<{ interactions: Interaction[] }>(
        'GET',
        '/api/interactions?state=open',
        undefined,
        signal,
      );
      return interactions.sort((a, b) => a.createdAt.localeCompare(b.createdAt));
    },
    // Hidden tabs have no feed, but their title shows how many questions are open.
    refetchInterval: 60_000,
    refetchIntervalInBackground: true,
  });
}

/** Answers an open interaction. Repeating the same answer is no error; a different one is rejected. */
export function useAnswer() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...answer }: Answer & { id: string }) =>
      api<Interaction>('POST', `/api/interactions/${id}`, answer),
    onSuccess: (_row, { id }) => {
      // The host's event, which follows, changes the row itself.
      client.setQueryData<Interaction[]>(['interactions'], (list) => list?.filter((i) => i.id !== id));
    },
    onSettled: () => readAgain(client, ['interactions']),
  });
}
