import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { BellhopTransport, shouldSendAutomatically, type BellhopOptions } from '../../src/ai-sdk.js';
import { toUIMessages } from '../../src/history.js';
import { BellhopClient } from '../../src/index.js';
import { Chat, until } from '../kit/chat.js';
import { FaultProxy } from '../kit/proxy.js';

let proxy: FaultProxy;
const client = new BellhopClient();

beforeEach(async () => {
  proxy = await new FaultProxy(new URL(inject('hostUrl'))).start();
  client.options = { endpoint: inject('brokerUrl'), token: inject('token') };
});
afterEach(() => proxy.stop());

const newTask = async () => (await client.createTask({ title: 'A chat' })).id;

function open(taskId: string, options: BellhopOptions = {}, messages = toUIMessages([])) {
  const transport = new BellhopTransport({ ...client.options, taskId, fetch: proxy.fetch, ...options });
  return {
    transport,
    chat: new Chat({ id: taskId, transport, messages, sendAutomaticallyWhen: shouldSendAutomatically }),
  };
}

const counted = (n: number) => Array.from({ length: n }, (_, at) => at + 1).join(' ');

test('a turn cut twice is shown once', async () => {
  proxy.cuts.push(900, 900);
  const { chat } = open(await newTask());
  await chat.sendMessage({ text: 'slow 20' });
  expect(chat.text).toBe(counted(20));
  expect(chat.messages).toHaveLength(2);
});

test.each([
  [true, 'output-available'],
  [false, 'output-denied'],
] as const)('a permission answered %s continues its message', async (approved, state) => {
  const { chat } = open(await newTask());
  await chat.sendMessage({ text: 'list then write a.txt: hi then run cat a.txt' });
  for (const tools of [
    `list_dir:output-available,write_file:approval-requested`,
    `list_dir:output-available,write_file:${state},run_command:approval-requested`,
  ]) {
    await until(() => chat.status === 'ready' && chat.tools === tools);
    await chat.addToolApprovalResponse({ id: chat.approval!.id, approved });
  }
  await until(
    () =>
      chat.status === 'ready' && chat.tools === `list_dir:output-available,write_file:${state},run_command:${state}`,
  );
  expect(chat.messages).toHaveLength(2);
});

test('a page reloaded during a turn shows history and the remaining turn, once', async () => {
  const taskId = await newTask();
  const before = open(taskId);
  await before.chat.sendMessage({ text: 'list' });
  const running = before.chat.sendMessage({ text: 'list then slow 20' });
  await until(() => before.chat.text.includes('4 5'));
  await before.chat.stop();
  await running;
  const after = open(taskId, {}, toUIMessages((await client.messages(taskId)).messages));
  await after.chat.resumeStream();
  expect(after.chat.text).toContain(counted(20));
  expect(after.chat.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(after.chat.text.match(/I will look at/g)).toHaveLength(1);
});

test('a permission that is open at a reload is answered there', async () => {
  const taskId = await newTask();
  await open(taskId).chat.sendMessage({ text: 'write b.txt: hi' });
  const { chat } = open(taskId, {}, toUIMessages((await client.messages(taskId)).messages));
  await chat.resumeStream();
  await chat.addToolApprovalResponse({ id: chat.approval!.id, approved: true });
  await until(() => chat.status === 'ready' && chat.tools === 'write_file:output-available');
  expect(chat.messages).toHaveLength(2);
});

test('in mode live a question and a permission are answered by respond', async () => {
  const { chat, transport } = open(await newTask(), { approvals: 'live' });
  const sent = chat.sendMessage({ text: 'ask Which? then write c.txt: hi' });
  const idOf = (type: string) =>
    chat.lastMessage?.parts.find((part) => part.type === type) as { id: string } | undefined;
  await until(() => idOf('data-ask') !== undefined);
  await transport.respond(idOf('data-ask')!.id, { text: 'this' });
  await until(() => idOf('data-approval') !== undefined);
  await transport.respond(idOf('data-approval')!.id, { approved: true, remember: 'session' });
  await sent;
  expect(chat.data('data-ask')).toMatchObject([{ state: 'resolved', answer: 'this' }]);
  expect(chat.tools).toBe('write_file:output-available');
});

describe('a permission answered on another page', () => {
  /** A page that showed the permission is reloaded, and another page answers it. */
  async function answeredElsewhere(approved: boolean, then = '', resume = true) {
    const taskId = await newTask();
    const before = open(taskId);
    await before.chat.sendMessage({ text: `write d.txt: hi${then}` });
    const messages = structuredClone(before.chat.messages);
    await before.chat.stop();
    const page = open(taskId, {}, messages);
    if (resume) await page.chat.resumeStream();
    const { id } = page.chat.approval!;
    await client.answer(id, { approved });
    return { ...page, id, taskId };
  }

  test.each([
    [true, true, 'output-available'],
    [true, false, 'output-available'],
    [false, true, 'output-denied'],
    [false, false, 'output-denied'],
  ])('%s, and %s here after a reload that resumed, shows what became of it', async (there, here, state) => {
    const { chat, id } = await answeredElsewhere(there, ' then slow 12');
    await chat.addToolApprovalResponse({ id, approved: here });
    await until(() => chat.status === 'ready' && chat.text.includes(counted(12)));
    expect(chat.tools).toBe(`write_file:${state}`);
    expect(chat.messages).toHaveLength(2);
    expect(chat.error).toBeUndefined();
  });

  test.each([
    [true, 'output-available'],
    [false, 'output-denied'],
  ] as const)('%s, and here in mid-turn without a resume, loses and doubles nothing', async (there, state) => {
    const { chat, id } = await answeredElsewhere(there, ' then slow 30', false);
    const running = await client.resume(chat.id);
    for await (const { part } of running!.parts()) if (part.type === 'text-delta' && part.text.startsWith('5')) break;
    await chat.addToolApprovalResponse({ id, approved: !there });
    await until(() => chat.status === 'ready' && chat.text.includes(counted(30)));
    expect(chat.tools).toBe(`write_file:${state}`);
    expect(chat.text.match(/I will write/g)).toHaveLength(1);
    expect(chat.text.match(/1 2 3/g)).toHaveLength(1);
    expect(chat.messages).toHaveLength(2);
  });

  test('is followed by another turn that this page prompts', async () => {
    const { chat, id } = await answeredElsewhere(true, ' then write e.txt: hi', false);
    let next: { id: string } | undefined;
    while (!next) next = (await client.interactions('open')).find((open) => open.taskId === chat.id && open.id !== id);
    await chat.addToolApprovalResponse({ id, approved: true });
    await until(() => chat.status === 'ready' && chat.approval?.id === next.id);
    await chat.addToolApprovalResponse({ id: next.id, approved: true });
    await until(
      () => chat.status === 'ready' && chat.tools === 'write_file:output-available,write_file:output-available',
    );
    expect(chat.text.match(/I will write/g)).toHaveLength(2);
  });

  test.each([true, false])('in a turn that is over shows its end, resumed before: %s', async (resume) => {
    const { chat, id } = await answeredElsewhere(true, ' then slow 4', resume);
    while ((await client.task(chat.id)).lastTurn === null);
    await chat.addToolApprovalResponse({ id, approved: true });
    await until(() => chat.status === 'ready' && chat.text.includes(counted(4)));
    expect(chat.tools).toBe('write_file:output-available');
    expect(chat.text.match(/I will write/g)).toHaveLength(1);
    expect(chat.messages).toHaveLength(2);
  });

  test('in an earlier turn is an error that a reload fixes', async () => {
    const { chat, id, taskId } = await answeredElsewhere(true, '', false);
    while ((await client.task(taskId)).lastTurn === null);
    await open(taskId).chat.sendMessage({ text: 'slow 4' });
    await chat.addToolApprovalResponse({ id, approved: true });
    await until(() => chat.status === 'error');
    expect(chat.error?.message).toContain('lost this turn');
    expect(toUIMessages((await client.messages(taskId)).messages)).toHaveLength(4);
  });
});

test('the plain example runs a turn', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'bellhop-plain-'));
  writeFileSync(join(dir, 'dev.json'), JSON.stringify({ brokerUrl: inject('brokerUrl'), apiToken: inject('token') }));
  const script = fileURLToPath(new URL('../../examples/plain/chat.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, join(dir, 'dev.json'), 'slow 5']);
  rmSync(dir, { recursive: true });
  expect(stdout).toBe('1 2 3 4 5\n(stop)\n2 messages are stored\n');
});
