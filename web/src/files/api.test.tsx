import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import type { Task } from '../app/types.ts';
import { useDirectory, useFile } from './api.ts';

afterEach(() => vi.unstubAllGlobals());

const after = (turn: string) => ({ id: 't', lastTurn: { id: turn } }) as Task;

for (const [what, useRead, answer] of [
  ['a directory', useDirectory, (n: number) => ({ entries: [{ name: `${n}.txt` }] })],
  ['a file', useFile, (n: number) => ({ text: `version ${n}` })],
] as const)
  test(`what was read of ${what} stays while it is read again after a turn`, async () => {
    const answers: ((read: Response) => void)[] = [];
    vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => answers.push(resolve)));
    const client = new QueryClient();
    const wrapper = ({ children }: { children: ReactNode }) => (
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    );
    const { result, rerender } = renderHook(({ task }) => useRead(task, 'src') as { data?: { pages: unknown[] } }, {
      wrapper,
      initialProps: { task: after('one') },
    });
    const read = async (n: number) => {
      await waitFor(() => expect(answers).toHaveLength(n));
      await act(async () => answers.at(-1)?.(Response.json(answer(n))));
      await waitFor(() => expect(result.current.data?.pages).toEqual([answer(n)]));
    };
    await read(1);
    rerender({ task: after('two') });
    await waitFor(() => expect(answers).toHaveLength(2));
    expect(result.current.data?.pages).toEqual([answer(1)]);
    await read(2);
  });
