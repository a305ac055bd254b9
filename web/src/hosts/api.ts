import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../app/http.ts';
import type { Host } from '../app/types.ts';
import { useMe } from '../auth/session.ts';

/** The registered hosts. Only administrators may list them; other users get an empty list. */
export function useHosts() {
  const admin = useMe().data?.admin ?? false;
  return useQuery({
    queryKey: ['hosts'],
    enabled: admin,
    queryFn: async ({ signal }) => (await api<{ hosts: Host[] }>('GET', '/api/hosts', undefined, signal)).hosts,
    refetchInterval: 20_000,
  });
}

export function useOfflineHosts(): ReadonlySet<string> {
  const { data } = useHosts();
  return useMemo(() => new Set(data?.filter((h) => h.health === 'unreachable').map((h) => h.id)), [data]);
}

export interface HostInput {
  name: string;
  url: string;
  password: string;
}

export function useAddHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (host: HostInput) => api<Host>('POST', '/api/hosts', host),
    onSuccess: () => client.invalidateQueries({ queryKey: ['hosts'] }),
  });
}

export function useUpdateHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...change }: { id: string; reach?: 'direct' | 'relay' }) =>
      api<Host>('PATCH', `/api/hosts/${id}`, change),
    onSettled: () => client.invalidateQueries({ queryKey: ['hosts'] }),
  });
}

export function useRemoveHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('DELETE', `/api/hosts/${id}`),
    onSettled: () => client.invalidateQueries({ queryKey: ['hosts'] }),
  });
}
