import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import {
  BellhopClient,
  isToolUse,
  type ClientOptions,
  type ConnectionState,
  type NativePart,
  type Turn,
} from '../../src/index.js';
import { toUIMessages } from '../../src/history.js';
import { FaultProxy } from '../kit/proxy.js';

let proxy: FaultProxy;

beforeEach(async () => {
  proxy = await new FaultProxy(new URL(inject('hostUrl'))).start();
});
afterEach(() => proxy.stop());

const open = (options: ClientOptions = {}) =>
  new BellhopClient({ endpoint: inject('brokerUrl'), token: inject('token'), fetch: proxy.fetch, ...options });
const newTask = async (client: BellhopClient) => (await client.createTask({ title: 'A test' })).id;

async function read(turn: Turn, see?: (part: NativePart) => unknown): Promise<NativePart[]> {
  const parts: NativePart[] = [];
  for await (const { part } of turn.parts()) {
    parts.push(part);
    await see?.(part);
  }
  return parts;
}

const words = (parts: NativePart[]) =>
  parts.flatMap((part) => (part.type === 'text-delta' ? [part.text] : [])).join('');
const counted = (n: number) => Array.from({ length: n }, (_, at) => at + 1).join(' ');

describe('a turn of the demo agent', () => {
  test('streams text and tools, and history has the same', async () => {
    const client = open();
    const id = await newTask(client);
    const turn = await client.prompt(id, 'list');
    const parts = await read(turn);
    expect(parts.map((part) => part.type)).toContain('tool-result');
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop', event: { turnId: turn.turnId } });
    const feed = client.taskFeed(id, { since: 0 });
    for await (const change of feed) if (change.type === 'task' && change.data.lastTurn?.id === turn.turnId) break;
    const { messages } = await client.messages(id);
    expect(messages[0]).toMatchObject({ id: turn.messageId, role: 'USER', status: 'SENT', message: 'list' });
    expect(messages.flatMap((message) => message.artifacts).filter(isToolUse)).toMatchObject([
      { content: { toolName: 'list_dir', state: 'done' } },
    ]);
    const shown = toUIMessages(messages);
    expect(shown.map((message) => message.id)).toEqual([turn.messageId, turn.turnId]);
    expect(shown[1]!.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')).toBe(words(parts));
  });

  test('cut three times by the network neither doubles nor loses a word', async () => {
    proxy.cuts.push(900, 900, 700);
    const states: ConnectionState[] = [];
    const client = open({ onConnection: (state) => states.push(state) });
    const turn = await client.prompt(await newTask(client), 'slow 30');
    expect(words(await read(turn))).toBe(counted(30));
    expect(states.filter((state) => state === 'reconnecting')).toHaveLength(3);
  });

  test('that stalls on an open connection continues on another one', async () => {
    proxy.stalls.push(1_000);
    const client = open({ idleMs: 1_000 });
    const turn = await client.prompt(await newTask(client), 'slow 20');
    expect(words(await read(turn))).toBe(counted(20));
    expect(proxy.connections).toBe(2);
  });

  test('goes through the broker when the host cannot be reached directly', async () => {
    proxy.refuse = true;
    const client = open();
    const turn = await client.prompt(await newTask(client), 'slow 5');
    expect(words(await read(turn))).toBe(counted(5));
    expect(turn.reach()).toBe('relay');
  });

  test('can be detached and resumed from its start', async () => {
    const client = open();
    const id = await newTask(client);
    const first = await client.prompt(id, 'slow 20');
    for await (const { part } of first.parts()) if (part.type === 'text-delta' && part.text.includes('5')) break;
    const found = await client.resume(id);
    expect(found?.turnId).toBe(first.turnId);
    expect(words(await read(found!))).toBe(counted(20));
    expect(await client.resume(id)).toBeNull();
  });

  test('is interrupted', async () => {
    const client = open();
    const turn = await client.prompt(await newTask(client), 'slow 600');
    const parts = await read(turn, (part) =>
      part.type === 'text-delta' && part.text.startsWith('3') ? turn.interrupt() : undefined,
    );
    expect(parts.at(-1)).toMatchObject({ type: 'abort' });
  });

  test.each([true, false])('asks before it writes: %s', async (approved) => {
    const client = open();
    const turn = await client.prompt(await newTask(client), 'write a.txt: hi');
    const parts = await read(turn, (part) =>
      part.type === 'tool-approval-request' ? client.answer(part.approvalId, { approved, reason: 'so' }) : undefined,
    );
    expect(parts.find((part) => part.type === 'tool-approval-response')).toMatchObject({ approved });
    expect(parts.map((part) => part.type)).toContain(approved ? 'tool-result' : 'tool-output-denied');
  });

  test('asks a question', async () => {
    const client = open();
    const turn = await client.prompt(await newTask(client), 'ask Which?');
    const parts = await read(turn, (part) =>
      part.type === 'data-ask' ? client.answer(part.id, { text: 'this one' }) : undefined,
    );
    expect(parts.find((part) => part.type === 'data-answer')).toMatchObject({
      data: { state: 'resolved', answer: { text: 'this one' } },
    });
    expect(words(parts)).toContain('this one');
  });

  test('checked in twice under one id is one message', async () => {
    const client = open();
    const id = await newTask(client);
    const [one, two] = [
      await client.prompt(id, 'slow 4', { messageId: 'same' }),
      await client.prompt(id, 'slow 4', { messageId: 'same' }),
    ];
    expect(two.turnId).toBe(one.turnId);
    expect(words(await read(one))).toBe(words(await read(two)));
    expect((await client.messages(id)).messages.filter((message) => message.role === 'USER')).toHaveLength(1);
  });
});

describe('feeds', () => {
  test('of a task resume by rev after a cut', async () => {
    const broker = await new FaultProxy(new URL(inject('brokerUrl'))).start();
    const client = open({ endpoint: broker.url });
    const id = await newTask(client);
    const revs: number[] = [];
    for await (const change of client.taskFeed(id, { since: 0 })) {
      if (change.type === 'hello') {
        if (revs.length > 0) continue;
        await client.updateTask(id, { title: 'Another' });
        continue;
      }
      revs.push(change.rev);
      if (change.type === 'task' && change.data.title === 'Third') break;
      if (change.type === 'task' && change.data.title === 'Another') {
        broker.cut();
        await open().updateTask(id, { title: 'Third' });
      }
    }
    expect(revs).toEqual([...revs].sort((a, b) => a - b));
    expect(new Set(revs).size).toBe(revs.length);
    await broker.stop();
  });

  test('of a task are reset when they cannot be resumed', async () => {
    const client = open();
    const id = await newTask(client);
    const seen: string[] = [];
    for await (const change of client.taskFeed(id, { since: 1_000_000 })) {
      seen.push(change.type);
      if (change.type === 'reset') break;
    }
    expect(seen).toEqual(['hello', 'reset']);
  });

  test('of a user begin with hello and report changes', async () => {
    const client = open();
    let id = '';
    for await (const change of client.userFeed()) {
      if (change.type === 'hello') id = await newTask(client);
      if (change.type === 'task' && change.data.taskId === id) break;
    }
    expect(id).not.toBe('');
  });

  test('of an unknown task are refused', async () => {
    await expect(open().taskFeed('nothing').next()).rejects.toMatchObject({ status: 404, code: 'not_found' });
  });
});

test('tasks are made, listed, changed and deleted', async () => {
  const client = open();
  const task = await client.createTask({ title: 'To be deleted' });
  expect((await client.tasks({ q: 'deleted' })).tasks.map(({ id }) => id)).toContain(task.id);
  expect(await client.updateTask(task.id, { title: 'Changed', archived: true })).toMatchObject({
    title: 'Changed',
    archived: true,
  });
  expect(await client.onlyCopies(task.id)).toMatchObject({ items: [] });
  expect(await client.deleteTask(task.id, 'any')).toEqual({ success: true });
  await expect(client.task(task.id)).rejects.toMatchObject({ status: 404, origin: inject('brokerUrl') });
  expect(await client.interactions('open')).toEqual([]);
});

test('a wrong token is an error with a hint', async () => {
  await expect(open({ token: 'bhp_wrong' }).tasks()).rejects.toMatchObject({ status: 401, code: 'unauthorized' });
});
