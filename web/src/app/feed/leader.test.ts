import { describe, expect, it, vi } from 'vitest';
import { join, type Surroundings } from './leader.ts';

/** A browser's locks and channels, shared by the tabs of a test. */
function browser() {
  const waiting: (() => void)[] = [];
  let held = false;
  const channels = new Set<{ onmessage: ((e: MessageEvent) => void) | null }>();
  const locks = {
    request: async (_name: string, options: { signal: AbortSignal }, work: () => Promise<void>) => {
      while (held) {
        await new Promise<void>((resolve, reject) => {
          waiting.push(resolve);
          options.signal.addEventListener('abort', () => reject(options.signal.reason), { once: true });
        });
      }
      options.signal.throwIfAborted();
      held = true;
      try {
        await work();
      } finally {
        held = false;
        for (const next of waiting.splice(0)) next();
      }
    },
  };
  const tab = (): Surroundings => ({
    locks: locks as unknown as Pick<LockManager, 'request'>,
    channel: () => {
      const channel: ReturnType<Surroundings['channel']> = {
        onmessage: null,
        postMessage: (data: unknown) => {
          for (const c of channels) if (c !== channel) c.onmessage?.(new MessageEvent('message', { data }));
        },
        close: () => channels.delete(channel),
      };
      channels.add(channel);
      return channel;
    },
  });
  return tab;
}

function member(around: Surroundings) {
  const received: string[] = [];
  const state = { leads: false, publish: (_: string) => undefined as void };
  const { leave } = join<string>(
    {
      name: 'feed',
      onMessage: (m) => received.push(m),
      lead: (publish, signal) => {
        state.leads = true;
        state.publish = publish;
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            state.leads = false;
            resolve();
          }),
        );
      },
    },
    around,
  );
  return { received, state, leave };
}

const turn = () => vi.waitFor(() => undefined);

describe('join', () => {
  it('elects exactly one leader, which reaches every tab once', async () => {
    const tab = browser();
    const [a, b, c] = [member(tab()), member(tab()), member(tab())];
    await turn();
    expect([a, b, c].filter((m) => m.state.leads)).toHaveLength(1);
    a.state.publish('x');
    expect([a.received, b.received, c.received]).toEqual([['x'], ['x'], ['x']]);
  });
  it('elects another leader when the leader leaves', async () => {
    const tab = browser();
    const [a, b] = [member(tab()), member(tab())];
    await turn();
    a.leave();
    await vi.waitFor(() => expect(b.state.leads).toBe(true), { timeout: 30_000 });
    b.state.publish('y');
    expect(a.received).toEqual([]);
    expect(b.received).toEqual(['y']);
  });
  it('never leads after it left during the wait', async () => {
    const tab = browser();
    const [a, b] = [member(tab()), member(tab())];
    await turn();
    b.leave();
    a.leave();
    await turn();
    expect(b.state.leads).toBe(false);
  });
  it('makes every tab a leader where there are no locks', () => {
    const m = member({ ...browser()(), locks: undefined });
    expect(m.state.leads).toBe(true);
    m.state.publish('z');
    expect(m.received).toEqual(['z']);
  });
});
