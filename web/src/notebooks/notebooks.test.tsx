import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, renderHook, screen, waitFor } from '@testing-library/react';
import type { AgentHint, FollowupMessage, FollowupMetadata, Notebook } from '@bellhop/client';
import type { ReactNode } from 'react';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Toasts } from '../ui/toast.tsx';
import { attach } from './attachments.tsx';
import { AgentIcon } from './icon.tsx';
import { MessageView } from './message.tsx';
import { Delivery } from './progress.tsx';
import { announce, useMarkRead } from './unread.ts';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const metadata = (more: Partial<FollowupMetadata>): FollowupMetadata => ({ delivered: false, read: false, ...more });

const message = (id: string, role: 'user' | 'agent', more: Partial<FollowupMetadata> = {}): FollowupMessage => ({
  id,
  sourceId: 's1',
  role,
  content: `text of ${id}`,
  timestamp: '2026-03-01T12:00:00Z',
  metadata: metadata(more),
});

describe('a question on its way', () => {
  const at = new Date(Date.parse('2026-03-01T12:00:00Z'));
  test.each([
    [{}, 'Waiting for the agent'],
    [{ progress: { state: 'sending', attempts: 0 } }, 'Sending …'],
    [{ progress: { state: 'sending', attempts: 1 } }, 'Sending again …'],
    [
      { progress: { state: 'retrying', attempts: 2, nextAttemptAt: '2026-03-01T12:01:05Z', lastError: 'status 500' } },
      'Retrying, next in 1 min 5 s (last: status 500)',
    ],
    [{ progress: { state: 'retrying', attempts: 2, nextAttemptAt: '2026-03-01T11:59:59Z' } }, 'Retrying, now'],
    [{ progress: { state: 'waiting', attempts: 0 } }, 'Waits behind another question'],
    [{ progress: { state: 'held', attempts: 1 } }, "Held back: the agent's webhook is disabled"],
    [{ failure: 'Not delivered: status 404' }, 'Not delivered: status 404'],
    [{ failure: 'no time', delivered: true }, 'Ada refused it: no time'],
    [{ delivered: true }, 'Delivered, waiting for an answer'],
    [{ delivered: true, read: true }, 'Answered'],
  ] satisfies [Partial<FollowupMetadata>, string][])('%o is shown as "%s"', (state, text) => {
    vi.useFakeTimers({ now: at });
    const { container } = render(<Delivery metadata={metadata(state)} agentName="Ada" />);
    expect(container.textContent).toBe(text);
  });
});

describe("an agent's icon", () => {
  const icon = (agentIcon: string) =>
    render(<AgentIcon notebook={{ agentIcon, agentName: 'Ada', agentSessionId: 's1' } as Notebook} />).container;

  test('is an image of the broker, and the initial if that fails', () => {
    const container = icon('https://icons.example/a.png');
    const image = container.querySelector('img');
    expect(new URL(image?.src ?? '').pathname).toBe('/api/agent-sessions/s1/icon');
    expect(new URL(image?.src ?? '').host).toBe(location.host);
    if (image) fireEvent.error(image);
    expect(container.textContent).toBe('A');
  });

  test('is text otherwise', () => {
    expect(icon('🤖').textContent).toBe('🤖');
    expect(icon('<b>x</b>').textContent).toBe('<b>x</b>');
    expect(icon('').textContent).toBe('📓');
  });
});

describe('attachments', () => {
  test('of both sides are shown as text', () => {
    const list = [{ name: 'build.log', type: 'text/html', content: '<img src=x>' }];
    for (const role of ['user', 'agent'] as const) {
      const { container, unmount } = render(
        <MessageView message={message('m', role, { attachments: list })} agentName="Ada" isNew={false} />,
      );
      expect(container.textContent).toContain('build.log (11 bytes)');
      expect(container.textContent).toContain('<img src=x>');
      expect(container.querySelector('img')).toBeNull();
      unmount();
    }
  });

  test('are texts of at most 64 KiB', async () => {
    // jsdom's files have a size, but their bytes cannot be read.
    const file = (content: string | Uint8Array<ArrayBuffer>, name = 'a.txt') => {
      const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
      return Object.assign(new File([content], name), { arrayBuffer: async () => bytes.slice().buffer });
    };
    await expect(attach(file('é'))).resolves.toEqual({ name: 'a.txt', type: 'text/plain', content: 'é' });
    await expect(attach(file('x'.repeat((64 << 10) + 1)))).rejects.toThrow('a.txt is larger than 64 KiB');
    await expect(attach(file('a\0b'))).rejects.toThrow('a.txt is no text');
    await expect(attach(file(new Uint8Array([0xff, 0xd8]), 'a.jpg'))).rejects.toThrow('a.jpg is no text');
  });
});

describe('what the user has seen', () => {
  const setup = (messages: FollowupMessage[]) => {
    const sent: [string, unknown][] = [];
    vi.stubGlobal('fetch', async (url: string | URL | Request, init?: RequestInit) => {
      sent.push([
        new URL(url instanceof Request ? url.url : url, location.href).pathname,
        JSON.parse(String(init?.body)),
      ]);
      return Response.json({ success: true });
    });
    const client = new QueryClient();
    const wrapper = ({ children }: { children: ReactNode }) => (
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    );
    return {
      sent,
      hook: renderHook((list: FollowupMessage[]) => useMarkRead('s1', list), { wrapper, initialProps: messages }),
    };
  };
  const visible = (state: 'visible' | 'hidden') => vi.spyOn(document, 'visibilityState', 'get').mockReturnValue(state);

  test('is reported once, up to the last message, and marked as new here', async () => {
    visible('visible');
    const messages = [message('q', 'user', { read: true }), message('a', 'agent')];
    const { sent, hook } = setup(messages);
    await waitFor(() => expect(sent).toEqual([['/api/sources/s1/conversation/read', { messageId: 'a' }]]));
    expect([...hook.result.current]).toEqual(['a']);
    await waitFor(() => {
      hook.rerender([...messages]);
      expect(sent).toHaveLength(1);
    });
    hook.rerender([...messages, message('f', 'user', { failure: 'Not delivered: status 500' })]);
    await waitFor(() => expect(sent.at(-1)?.[1]).toEqual({ messageId: 'f' }));
  });

  test('is nothing while the page is hidden, or all was seen', async () => {
    visible('visible');
    const seen = setup([message('a', 'agent', { read: true })]);
    visible('hidden');
    const { sent } = setup([message('a', 'agent')]);
    expect([...seen.sent, ...sent]).toEqual([]);
    visible('visible');
    document.dispatchEvent(new Event('visibilitychange'));
    await waitFor(() => expect(sent).toHaveLength(1));
  });
});

describe('a toast', () => {
  const hint = (rev: number, event: string): AgentHint => ({
    agentSessionId: 's1',
    rev,
    status: 'active',
    event,
    sourceId: 'x',
  });
  test('reports answers and failures once, on other pages, and opens the conversation', async () => {
    const queries = new QueryClient();
    queries.setQueryData(['notebooks'], [{ agentSessionId: 's1', agentName: 'Ada' }]);
    const open = vi.fn();
    const { container } = render(<Toasts />);
    const on = (path: string, rev: number, event: string) => announce(queries, hint(rev, event), path, open);
    on('/base/sources/x', 1, 'answered');
    on('/inbox', 2, 'message');
    on('/inbox', 2, 'answered'); // an old frame
    expect(container.querySelectorAll('button')).toHaveLength(0);
    on('/inbox', 3, 'delivery_failed');
    on('/inbox', 4, 'answered');
    await waitFor(() => expect(container.textContent).toContain('Ada answered your question'));
    expect(container.textContent).toContain('A question to Ada failed');
    const buttons = screen.getAllByRole('button', { name: 'Open' });
    if (buttons[0]) fireEvent.click(buttons[0]);
    expect(open).toHaveBeenCalledWith('x');
  });
});
