import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import type { Host } from '../app/types.ts';
import { useIsAdmin } from '../auth/session.ts';

interface HostList {
  hosts: Host[];
  notices?: string[];
}

function useHostList<T>(select: (list: HostList) => T) {
  const admin = useIsAdmin();
  return useQuery({
    queryKey: ['hosts'],
    enabled: admin,
    queryFn: ({ signal }) => api<HostList>('GET', '/api/hosts', undefined, signal),
    refetchInterval: 8_000,
    select,
  });
}

const hostsOf = (list: HostList) => list.hosts;

/** The registered hosts; only administrators may see them, others get none. */
export const useHosts = () => useHostList(hostsOf);

/** What administrators should know: second copies of hosts, then disks: those of hosts, then the broker's own. */
export function hostNotices({ hosts, notices = [] }: HostList): string[] {
  const copies = hosts
    .filter((h) => h.copy)
    .map(
      (h) =>
        `Two copies of host ${h.name}: events of the one at ${h.copy?.place || 'another place'} wait. End one of them`,
    );
  const full = hosts
    .filter((h) => h.health === 'full')
    .map((h) => `The disk of ${h.name} is full: no turn can start there`);
  const low = hosts.filter((h) => h.health === 'low-space').map((h) => `The disk of ${h.name} has little room left`);
  return [...copies, ...full, ...low, ...notices];
}

export const useHostNotices = () => useHostList(hostNotices).data ?? [];

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
    onSuccess: () => readAgain(client, ['hosts']),
  });
}

export function useUpdateHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...change }: { id: string; reach?: 'direct' | 'relay' }) =>
      api<Host>('PATCH', `/api/hosts/${id}`, change),
    onSettled: () => readAgain(client, ['hosts']),
  });
}

export function useRemoveHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api('DELETE', `/api/hosts/${id}`),
    onSettled: () => readAgain(client, ['hosts']),
  });
}
