import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../app/http.ts';
import type { Answer, Interaction } from '../app/types.ts';

export function useOpenInteractions() {
  return useQuery({
    queryKey: ['interactions'],
    queryFn: async ({ signal }) => {
      const { interactions } = await api<{ interactions: Interaction[] }>('GET', '/api/interactions?state=open', undefined, signal);
      return interactions.sort((a, b) => a.createdAt.localeCompare(b.createdAt));
    },
    // Hidden tabs have no feed, and their title is to say that somebody waits.
    refetchInterval: 60_000,
    refetchIntervalInBackground: true,
  });
}

/** Answers an open interaction; the same answer twice is no error, another one is refused. */
export function useAnswer() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...answer }: Answer & { id: string }) => api<Interaction>('POST', `/api/interactions/${id}`, answer),
    onSuccess: (_row, { id }) => {
      // The row itself changes by the host's event, which follows.
      client.setQueryData<Interaction[]>(['interactions'], (list) => list?.filter((i) => i.id !== id));
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['interactions'] }),
  });
}
