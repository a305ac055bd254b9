import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { BellhopTransport, type BellhopOptions } from '../../src/ai-sdk.js';
import { toUIMessages } from '../../src/history.js';
import { BellhopClient } from '../../src/index.js';
import { Chat, until } from '../kit/chat.js';
import { FaultProxy } from '../kit/proxy.js';

let proxy: FaultProxy;
let client: BellhopClient;
let taskId: string;

beforeEach(async () => {
  proxy = await new FaultProxy(new URL(inject('hostUrl'))).start();
  client = new BellhopClient({ endpoint: inject('brokerUrl'), token: inject('token') });
  taskId = (await client.createTask({ title: 'A busy one' })).id;
});
afterEach(() => proxy.stop());

const counted = (n: number) => Array.from({ length: n }, (_, at) => at + 1).join(' ');

/** A page, and the transient data parts that it received. */
async function page(options: BellhopOptions = {}) {
  const passing: { type: string; data: unknown }[] = [];
  const transport = new BellhopTransport({ ...client.options, taskId, fetch: proxy.fetch, ...options });
  const messages = toUIMessages((await client.messages(taskId)).messages);
  return {
    passing,
    transport,
    chat: new Chat({ id: taskId, transport, messages, onData: (part) => void passing.push(part) }),
  };
}

/** Another page of the same task, with an open turn. */
async function busy(prompt: string) {
  const { chat } = await page();
  const done = chat.sendMessage({ text: prompt });
  await until(() => chat.text.includes('3'));
  return { chat, done };
}

const queued = (passing: { type: string; data: unknown }[]) => passing.filter(({ type }) => type === 'data-queued');

test('a queued prompt is reported as queued, then runs like any turn', async () => {
  const first = await busy('slow 10');
  const { chat, passing } = await page({ whenBusy: 'queue' });
  await chat.sendMessage({ text: 'slow 6' });
  expect(queued(passing)).toMatchObject([{ data: { turnId: chat.lastMessage!.id, position: 1 } }]);
  expect(chat.text).toBe(counted(6));
  expect(chat.data('data-queued')).toEqual([]);
  await first.done;
  expect(first.chat.text).toBe(counted(10));
});

test('a queued prompt survives a lost connection under the same id', async () => {
  const first = await busy('slow 20');
  const { chat, passing } = await page({ whenBusy: 'queue' });
  const sent = chat.sendMessage({ text: 'slow 6' });
  await until(() => queued(passing).length === 1);
  proxy.cut();
  await until(() => queued(passing).length === 2);
  await sent;
  expect(chat.text).toBe(counted(6));
  await first.done;
  expect((await client.messages(taskId)).messages.filter(({ role }) => role === 'USER')).toHaveLength(2);
});

test('the next page finds a queued prompt of a closed page', async () => {
  const first = await busy('slow 20');
  const left = await page({ whenBusy: 'queue' });
  const sent = left.chat.sendMessage({ text: 'slow 12' });
  await until(() => queued(left.passing).length === 1);
  await left.chat.stop();
  await sent;
  const { chat } = await page();
  await chat.resumeStream();
  await first.done;
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant']);
  expect(chat.text).toBe(counted(20));
  for (let open: string | null = null; open === null || open === chat.lastMessage!.id; )
    open = (await client.task(taskId)).openTurn;
  await chat.resumeStream();
  expect(chat.text).toBe(counted(12));
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'assistant']);
  expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(4);
});

test('an interrupting prompt ends the previous turn', async () => {
  const first = await busy('slow 600');
  const { chat, passing } = await page({ whenBusy: 'interrupt' });
  await chat.sendMessage({ text: 'slow 6' });
  expect(queued(passing)).toHaveLength(1);
  expect(chat.text).toBe(counted(6));
  await first.done;
  expect(first.chat.status).toBe('ready');
  expect(first.chat.text).not.toContain('300');
});

test('a prompt is rejected while a turn is open', async () => {
  const first = await busy('slow 10');
  const { chat } = await page();
  await chat.sendMessage({ text: 'slow 6' });
  expect(chat.error).toMatchObject({ status: 409, code: 'busy' });
  await first.done;
});

/** Revokes the stream tokens of the task's session, as the host's operator may. */
async function revokeTokens(): Promise<void> {
  const revoked = await fetch(`${inject('hostUrl')}/session/${taskId}/revoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${inject('hostPassword')}`, 'bellhop-session-key': inject('operatorKey') },
  });
  expect(revoked.status).toBe(200);
}

test('a chat whose token is revoked during a turn continues with another token', async () => {
  const states: string[] = [];
  const { chat } = await page({ onConnection: (state) => states.push(state) });
  const sent = chat.sendMessage({ text: 'slow 20' });
  await until(() => chat.text.includes('5'));
  await revokeTokens();
  await sent;
  expect(chat.text).toBe(counted(20));
  expect(chat.messages).toHaveLength(2);
  expect(states).toContain('reconnecting');
});

test('a token revoked before its turn began is replaced for the same turn', async () => {
  const turn = await client.prompt(taskId, 'slow 6');
  await revokeTokens();
  let text = '';
  for await (const { part } of turn.parts()) if (part.type === 'text-delta') text += part.text;
  expect(text).toBe(counted(6));
  expect((await client.messages(taskId)).messages.filter(({ role }) => role === 'USER')).toHaveLength(1);
});
