import type { Installation, InstallationList } from '@bellhop/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import { sizeText } from '../task/composer/attachments.ts';

const pathOf = (hostId: string) => `/api/hosts/${hostId}/installations`;
const keyOf = (hostId: string) => ['installations', hostId];

/** How often a running installation is looked at. */
const lookEvery = 1_000;

const isRunning = (n: Installation) => n.state === 'running';

/** The last installations of a host. After the end of one, what the hosts offer is read again. */
export function useInstallations(hostId: string) {
  const client = useQueryClient();
  const query = useQuery({
    queryKey: keyOf(hostId),
    queryFn: ({ signal }) => api<InstallationList>('GET', pathOf(hostId), undefined, signal),
    refetchInterval: ({ state }) => (state.data?.installations.some(isRunning) ? lookEvery : false),
  });
  const ended = query.data?.installations
    .filter((n) => !isRunning(n))
    .map((n) => n.id)
    .join(' ');
  useEffect(() => {
    if (ended) void readAgain(client, ['offers']);
  }, [client, ended]);
  return query;
}

export function useInstall(hostId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (program: string) => api<Installation>('POST', pathOf(hostId), { program }),
    onSettled: () => readAgain(client, keyOf(hostId)),
  });
}

export function useCancelInstallation(hostId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (program: string) => api<Installation>('DELETE', `${pathOf(hostId)}/${encodeURIComponent(program)}`),
    onSettled: () => readAgain(client, keyOf(hostId)),
  });
}

/** What a running installation does, in words. */
export function progressText({ step, done, total }: Pick<Installation, 'step' | 'done' | 'total'>): string {
  switch (step) {
    case 'wait':
      return 'Waits for another process that installs it';
    case 'download':
      return total > 0 ? `Downloads, ${sizeText(done)} of ${sizeText(total)}` : `Downloads, ${sizeText(done)} so far`;
    case 'unpack':
      return 'Unpacks it';
    case 'npm':
      return 'npm fetches its parts';
    case 'check':
      return 'Starts it once to read its version';
    case undefined:
      return 'Begins';
  }
}
