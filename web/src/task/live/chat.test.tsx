import { act, renderHook, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Task } from '../../app/types.ts';
import { useLiveChat } from './chat.ts';

interface Call {
  method: string;
  path: string;
  body: Record<string, unknown>;
}

let calls: Call[] = [];
/** Responses by "METHOD /path": each is used once in order, the last one repeatedly. */
let answers: Record<string, (() => Response | Promise<Response>)[]> = {};

const frames = (turnId: string, ...parts: object[]) =>
  new Response(
    parts
      .map(
        (p, i) =>
          `id: 1-${i + 1}\nevent: message\ndata: ${JSON.stringify('event' in p ? { ...p, event: { id: `e${i}`, seq: i + 1, turnId } } : p)}\n\n`,
      )
      .join(''),
    { headers: { 'content-type': 'text/event-stream' } },
  );
const grant = (more: object) =>
  Response.json({
    success: true,
    sessionId: 's',
    streamToken: 'tok',
    streamUrl: 'http://host.test/stream/s',
    expiresAt: '2099-01-01T00:00:00Z',
    ...more,
  });
const hello = [
  { type: 'text-start', id: 'a' },
  { type: 'text-delta', id: 'a', text: 'Hel' },
  { type: 'text-delta', id: 'a', text: 'lo' },
  { type: 'text-end', id: 'a', event: {} },
  { type: 'finish', finishReason: 'stop', event: {} },
];

beforeEach(() => {
  calls = [];
  answers = {};
  vi.stubGlobal('fetch', async (input: string | URL, init: RequestInit = {}) => {
    const url = new URL(String(input), location.href);
    const call = {
      method: init.method ?? 'GET',
      path: url.pathname,
      body: init.body ? (JSON.parse(String(init.body)) as Record<string, unknown>) : {},
    };
    calls.push(call);
    const list = answers[`${call.method} ${call.path}`] ?? [];
    const answer = list.length > 1 ? list.shift() : list[0];
    return answer ? answer() : Response.json({ error: 'Not found', code: 'not_found' }, { status: 404 });
  });
});
afterEach(() => vi.unstubAllGlobals());

let taskNumber = 0;
function show(openTurn: string | null = null) {
  const id = `task-${++taskNumber}`;
  const task = (open: string | null) => ({ id, openTurn: open }) as Task;
  const hook = renderHook(({ open }: { open: string | null }) => useLiveChat(id, task(open), true), {
    initialProps: { open: openTurn },
  });
  const textOf = (turnId: string) =>
    hook.result.current.live
      .get(turnId)
      ?.parts.map((p) => (p.type === 'text' ? p.text : ''))
      .join('');
  return { ...hook, textOf };
}

describe('a live task', () => {
  it('checks a message in under its own id and shows the turn that follows', async () => {
    answers = {
      'POST /api/agent': [() => grant({ messageId: 'm1', turnId: 't1' })],
      'POST /stream/s': [() => frames('t1', ...hello)],
    };
    const { result, textOf } = show();
    act(() => result.current.send({ id: 'm1', text: 'hi', files: [] }));
    await waitFor(() => expect(textOf('t1')).toBe('Hello'));
    expect(result.current.pending?.id).toBe('m1');
    expect(calls[0]?.body).toMatchObject({ message: 'hi', messageId: 'm1' });
  });
  it('stops a message that is on its way again when the host has it', async () => {
    let checkIn = (_answer: Response) => undefined as unknown;
    answers = {
      'POST /api/agent': [() => new Promise((resolve) => (checkIn = resolve))],
      'POST /api/agent/interrupt': [() => Response.json({ success: true })],
      'POST /stream/s': [() => frames('t1', ...hello)],
    };
    const { result } = show();
    act(() => result.current.send({ id: 'm1', text: 'hi', files: [] }));
    await waitFor(() => expect(calls).toHaveLength(1));
    const stopped = result.current.stop();
    await waitFor(() => expect(calls).toHaveLength(2));
    checkIn(grant({ messageId: 'm1', turnId: 't1', capabilities: ['resume'] }));
    await act(() => stopped);
    const interrupt = '/api/agent/interrupt';
    expect(calls.map((c) => c.path)).toEqual(['/api/agent', interrupt, '/stream/s', interrupt]);
  });
  it('keeps the streamed form of an ended turn when the next turn begins', async () => {
    answers = {
      'POST /api/agent': [
        () => grant({ messageId: 'm1', turnId: 't1' }),
        () => grant({ messageId: 'm2', turnId: 't2' }),
      ],
      'POST /stream/s': [() => frames('t1', ...hello), () => frames('t2', ...hello)],
    };
    const { result, textOf } = show();
    act(() => result.current.send({ id: 'm1', text: 'hi', files: [] }));
    await waitFor(() => expect(result.current.status).toBe('ready'));
    act(() => result.current.send({ id: 'm2', text: 'again', files: [] }));
    await waitFor(() => expect(textOf('t2')).toBe('Hello'));
    expect(textOf('t1')).toBe('Hello');
  });
  it('attaches to a turn that another page started, without a check-in', async () => {
    const { result, rerender, textOf } = show();
    answers = {
      'POST /api/agent/attach': [() => grant({ agentStatus: 'busy', streamCursor: '1-0' })],
      [`GET /api/tasks/task-${taskNumber}`]: [() => Response.json({ openTurn: 't7' })],
      'GET /stream/s': [() => frames('t7', ...hello)],
    };
    rerender({ open: 't7' });
    await waitFor(() => expect(textOf('t7')).toBe('Hello'));
    await waitFor(() => expect(result.current.status).toBe('ready'));
    expect(calls.some((c) => c.path === '/api/agent')).toBe(false);
    expect(calls.filter((c) => c.path === '/api/agent/attach')).toHaveLength(1);
  });
  it('shows each notice of a turn once, and none of the turn before', async () => {
    const notice = (message: string) => ({ type: 'data-notice', data: { level: 'warning', message } });
    const restored = { type: 'data-context-restored', data: { turns: 3, bytes: 9, truncated: false } };
    const wrong = [{ type: 'data-notice', data: null }, notice('')];
    answers = {
      'POST /api/agent': [
        () => grant({ messageId: 'm1', turnId: 't1' }),
        () => grant({ messageId: 'm2', turnId: 't2' }),
      ],
      'POST /stream/s': [
        () => frames('t1', notice('one'), notice('one'), ...wrong, restored, notice('two'), ...hello),
        () => frames('t2', ...hello),
      ],
    };
    const { result, textOf } = show();
    act(() => result.current.send({ id: 'm1', text: 'hi', files: [] }));
    await waitFor(() => expect(textOf('t1')).toBe('Hello'));
    expect(result.current.notices).toEqual([
      { level: 'warning', message: 'one' },
      { level: 'info', message: expect.stringContaining('(3 turns)') as string },
      { level: 'warning', message: 'two' },
    ]);
    act(() => result.current.send({ id: 'm2', text: 'again', files: [] }));
    await waitFor(() => expect(textOf('t2')).toBe('Hello'));
    expect(result.current.notices).toEqual([]);
  });
  it('shows a refusal, and sends the same message again on demand', async () => {
    answers = {
      'POST /api/agent': [
        () => Response.json({ error: 'Failed to connect to agent server', code: 'bad_gateway' }, { status: 502 }),
        () => grant({ messageId: 'm1', turnId: 't1' }),
      ],
      'POST /stream/s': [() => frames('t1', ...hello)],
    };
    const { result, textOf } = show();
    act(() => result.current.send({ id: 'm1', text: 'hi', files: [] }));
    await waitFor(() => expect(result.current.status).toBe('error'));
    expect(result.current.error?.message).toBe('Failed to connect to agent server');
    act(() => result.current.send({ id: 'm1', text: 'hi', files: [] }));
    await waitFor(() => expect(textOf('t1')).toBe('Hello'));
    expect(calls.filter((c) => c.path === '/api/agent').map((c) => c.body.messageId)).toEqual(['m1', 'm1']);
  });
});

describe('a turn that cannot be streamed', () => {
  it('shows the error, and retries on demand', async () => {
    const { result, rerender, textOf } = show();
    answers = {
      'POST /api/agent/attach': [
        () => Response.json({ error: 'Task not found', code: 'not_found' }, { status: 404 }),
        () => grant({ agentStatus: 'busy', streamCursor: '1-0' }),
      ],
      [`GET /api/tasks/task-${taskNumber}`]: [() => Response.json({ openTurn: 't8' })],
      'GET /stream/s': [() => frames('t8', ...hello)],
    };
    rerender({ open: 't8' });
    await waitFor(() => expect(result.current.failing?.message).toBe('Task not found'));
    act(() => result.current.resume());
    await waitFor(() => expect(textOf('t8')).toBe('Hello'));
    expect(result.current.failing).toBeUndefined();
  });
});

it('sends a refused message again, which takes the session over from a terminal', async () => {
  answers = {
    'POST /api/agent': [() => grant({ messageId: 'm1', turnId: 't1' })],
    'POST /stream/s': [
      () => Response.json({ error: 'A terminal client is attached', code: 'attached' }, { status: 409 }),
      () => frames('t1', ...hello),
    ],
  };
  const chat = show();
  act(() => chat.result.current.send({ id: 'm1', text: 'Hi', files: [] }));
  await waitFor(() => expect(chat.result.current.error).toMatchObject({ code: 'attached' }));
  act(() => chat.result.current.send({ id: 'm1', text: 'Hi', files: [], force: true }));
  await waitFor(() => expect(chat.textOf('t1')).toBe('Hello'));
  const bodies = calls.filter((c) => c.path === '/stream/s').map((c) => c.body);
  expect(bodies.map((b) => b.force)).toEqual([undefined, true]);
  expect(calls.filter((c) => c.path === '/api/agent').map((c) => c.body.messageId)).toEqual(['m1', 'm1']);
});
