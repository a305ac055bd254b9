import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import { useMessageQueue } from './queue.ts';

afterEach(() => vi.unstubAllGlobals());

test('messages that are queued at once arrive in their order, also after one that failed', async () => {
  const arrived: string[] = [];
  const answers: (() => void)[] = [];
  vi.stubGlobal('fetch', (_url: string, init: RequestInit) => {
    const { message } = JSON.parse(String(init.body)) as { message: string };
    arrived.push(message);
    const refused = message === 'first' && Response.json({ error: 'Too long', code: 'invalid' }, { status: 400 });
    return new Promise((resolve) => answers.push(() => resolve(refused || Response.json({}))));
  });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useMessageQueue('t', undefined), { wrapper });
  act(() => {
    for (const text of ['first', 'second', 'third']) result.current.add({ id: text, text, files: [] });
  });
  for (const all of [['first'], ['first', 'second'], ['first', 'second', 'third']]) {
    await waitFor(() => expect(arrived).toEqual(all));
    await act(async () => answers.at(-1)?.());
  }
  expect(result.current.adding.map((m) => [m.text, m.failed])).toContainEqual(['first', 'Too long (400)']);
});
