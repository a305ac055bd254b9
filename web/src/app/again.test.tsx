import { QueryClient, QueryClientProvider, type QueryKey, QueryObserver } from '@tanstack/react-query';
import { act, renderHook } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, it, vi } from 'vitest';
import { useAddWebhook, useChangeWebhook, useRetryDelivery } from '../deliveries/api.ts';
import { useAddHost, useRemoveHost, useUpdateHost } from '../hosts/api.ts';
import { useCancelInstallation, useInstall } from '../hosts/installations.ts';
import { useAnswer } from '../inbox/api.ts';
import { useChooseEvents } from '../inbox/push.ts';
import { useAskSource, useConnection, useRemove } from '../notebooks/api.ts';
import { useCreateShare, useRevokeShare } from '../shares/api.ts';
import { useCreateTask, useUpdateTask } from '../tasks/api.ts';
import { useDeleteTemplate, useSaveTemplate } from '../templates/api.ts';
import { useCreateToken, useDeleteToken } from '../tokens/api.ts';
import { useDeleteUser, useResetFactor, useSetDisabled } from '../users/api.ts';
import { readAgain } from './again.ts';

afterEach(() => vi.unstubAllGlobals());

/** Expects that a first read of the key, which began before the act, is dropped and another one begins. */
async function expectReadAgain(queries: QueryClient, queryKey: QueryKey, doAct: () => unknown) {
  const answers: ((state: string) => void)[] = [];
  const observer = new QueryObserver(queries, {
    queryKey,
    queryFn: () => new Promise<string>((resolve) => answers.push(resolve)),
  });
  const stop = observer.subscribe(() => undefined);
  expect(answers).toHaveLength(1);
  const done = doAct();
  await expect.poll(() => answers.length).toBe(2);
  for (const [i, answer] of answers.entries()) answer(i === 0 ? 'before' : 'after');
  await done;
  await expect.poll(() => observer.getCurrentResult().data).toBe('after');
  stop();
}

it('drops a first read that began before the act', async () => {
  const queries = new QueryClient();
  await expectReadAgain(queries, ['workspace', 't', 'turn 2'], () => readAgain(queries, ['workspace', 't']));
});

interface Act {
  mutate: (variables: never) => void;
}

const acts: [name: string, useAct: () => Act, variables: unknown, queryKey: QueryKey][] = [
  ['disable a user', useSetDisabled, { id: 'u', disabled: true }, ['users']],
  ['delete a user', useDeleteUser, 'u', ['users']],
  ['reset a second factor', useResetFactor, 'u', ['users']],
  ['retry a delivery', useRetryDelivery, 'd', ['deliveries']],
  ['add a webhook', useAddWebhook, { url: 'https://a.example', events: [], format: 'json' }, ['webhooks']],
  ['enable a webhook', useChangeWebhook, { id: 'w', to: 'enable' }, ['webhooks']],
  ['remove a webhook', useChangeWebhook, { id: 'w', to: 'remove' }, ['deliveries']],
  ['create a task', useCreateTask, { title: 'T' }, ['tasks']],
  ['create a task in a workspace', useCreateTask, { title: 'T', workspace: 'w' }, ['workspaces']],
  ['archive a task', useUpdateTask, { id: 't', archived: true }, ['tasks']],
  ['connect an agent again', useConnection, { id: 'a', to: 'renew' }, ['notebooks']],
  ['disconnect an agent', useConnection, { id: 'a', to: 'disconnect' }, ['sources', 's']],
  ['remove a notebook', () => useRemove('notebooks'), 'n', ['notebooks']],
  ['ask about a source', () => useAskSource('s'), { content: 'why', attachments: [] }, ['sources', 's', 'versions']],
  ['save a template', useSaveTemplate, { id: undefined, input: {} }, ['templates']],
  ['delete a template', useDeleteTemplate, 't', ['templates']],
  ['add a host', useAddHost, { name: 'h', url: 'https://h.example', password: 'p' }, ['hosts']],
  ['change a host', useUpdateHost, { id: 'h', reach: 'relay' }, ['hosts']],
  ['remove a host', useRemoveHost, 'h', ['hosts']],
  ['install a program', () => useInstall('h'), 'opencode', ['installations', 'h']],
  ['cancel an installation', () => useCancelInstallation('h'), 'opencode', ['installations', 'h']],
  ['answer a question', useAnswer, { id: 'i', approved: true }, ['interactions']],
  ['choose notifications', useChooseEvents, { id: 'b', events: [] }, ['notifications']],
  ['create a token', useCreateToken, { name: 'ci' }, ['tokens']],
  ['delete a token', useDeleteToken, 't', ['tokens']],
  ['share a task', () => useCreateShare('t'), 7, ['shares', 't']],
  ['revoke a link', useRevokeShare, 's', ['shares', '']],
];

it.each(acts)('%s: what it changes is read again', async (_name, useAct, variables, queryKey) => {
  const answer = { id: 'x', workspace: 'w', webhook: {}, message: { id: 'm' } };
  vi.stubGlobal('fetch', () => Promise.resolve(Response.json(answer)));
  const queries = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(useAct, { wrapper });
  await expectReadAgain(queries, queryKey, () => act(() => result.current.mutate(variables as never)));
});

// An act in a component has no row above.
it('no file with acts leaves a first read to invalidateQueries', () => {
  const sources = import.meta.glob<string>('../**/*.{ts,tsx}', { query: '?raw', import: 'default', eager: true });
  const acting = Object.entries(sources).filter(
    ([path, text]) => text.includes('useMutation(') && !path.includes('test'),
  );
  expect(acting.length).toBeGreaterThan(10);
  expect(acting.filter(([, text]) => text.includes('.invalidateQueries(')).map(([path]) => path)).toEqual([]);
});
