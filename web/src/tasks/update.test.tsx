import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Task } from '../app/types.ts';
import { useUpdateTask } from './api.ts';
import { applyHint, findTask } from './cache.ts';

afterEach(() => vi.unstubAllGlobals());

it('restores a refused change, and keeps changes of the meantime', async () => {
  let refuse: ((answer: Response) => void) | undefined;
  vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => (refuse = resolve)));
  const queries = new QueryClient();
  queries.setQueryData(['task', 't'], {
    id: 't',
    title: 'Old',
    rev: 5,
    readRev: 5,
    agentStatus: 'idle',
    lastTurn: null,
    openInteractions: 0,
  } as Task);
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useUpdateTask(), { wrapper });

  act(() => result.current.mutate({ id: 't', title: 'New' }));
  await waitFor(() => expect(findTask(queries, 't')?.title).toBe('New'));
  applyHint(queries, { taskId: 't', rev: 7, agentStatus: 'busy', reason: '', openInteractions: 0 });
  await waitFor(() => expect(refuse).toBeDefined());
  await act(async () => refuse?.(Response.json({ error: 'No', code: 'invalid' }, { status: 400 })));
  await waitFor(() => expect(findTask(queries, 't')).toMatchObject({ title: 'Old', rev: 5, agentStatus: 'busy' }));

  applyHint(queries, { taskId: 't', rev: 8, agentStatus: 'idle', reason: '', openInteractions: 0 });
  expect(findTask(queries, 't')).toMatchObject({ agentStatus: 'idle' });
});

it('restores the model that a host refused', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(Response.json({ error: 'No', code: 'invalid' }, { status: 400 })));
  const queries = new QueryClient();
  queries.setQueryData(['task', 't'], { id: 't', title: 'T', rev: 5, readRev: 5, lastTurn: null } as Task);
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useUpdateTask(), { wrapper });
  act(() => result.current.mutate({ id: 't', model: 'large' }));
  await waitFor(() => expect(findTask(queries, 't')?.model).toBe('large'));
  await waitFor(() => expect(findTask(queries, 't')?.model).toBe(''));
});
