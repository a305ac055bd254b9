// @vitest-environment jsdom
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createElement, type ComponentType } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { BellhopClient, isToolUse, type Task } from '../../src/index.js';
import { until } from '../kit/chat.js';

const client = new BellhopClient({ endpoint: inject('brokerUrl'), token: inject('token') });
const folder = (path: string) => join(import.meta.dirname, '../..', path);
const direct = globalThis.fetch;
let root: Root | undefined;

afterEach(() => {
  root?.unmount();
  document.body.innerHTML = '';
});

/** Starts the example's own development server, which authenticates to the broker. */
async function serve(name: string): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(
    process.execPath,
    [folder('node_modules/vite/bin/vite.js'), '--port', '0', '--clearScreen', 'false'],
    {
      cwd: folder(`examples/${name}`),
      env: { ...process.env, BELLHOP_DEV: inject('devFile'), NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
      if (found) resolve(found[0]);
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`vite ended with ${code}: ${output}`)));
  });
  return { server, url };
}

const shown = () => document.body.textContent ?? '';
const button = (label: string) => [...document.querySelectorAll('button')].find((b) => b.textContent === label);

async function click(label: string): Promise<void> {
  await until(() => button(label)?.disabled === false);
  button(label)?.click();
}

/** Waits until the page takes the next message, and returns the task's last turn. */
async function ended(taskId: string): Promise<NonNullable<Task['lastTurn']>> {
  await until(() => button('Send') !== undefined);
  return vi.waitFor(
    async () => {
      const { openTurn, lastTurn } = await client.task(taskId);
      if (openTurn || !lastTurn) throw new Error('the turn is open');
      return lastTurn;
    },
    { timeout: 30_000 },
  );
}

/** Types a text into the composer, as a user does. */
async function type(text: string): Promise<void> {
  const find = () => document.querySelector<HTMLInputElement | HTMLTextAreaElement>('[aria-label="Message"]');
  await until(() => find() !== null);
  const input = find() as HTMLInputElement;
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(input), 'value')?.set?.call(input, text);
  input.dispatchEvent(new Event('input', { bubbles: true }));
}

describe.each(['react', 'assistant-ui'])('the example %s', (name) => {
  let served: { server: ChildProcess; url: string } | undefined;
  let Chat: ComponentType<{ taskId: string }>;

  beforeAll(async () => {
    const { url } = (served = await serve(name));
    globalThis.fetch = (input, init) => direct(String(new URL(String(input), url)), init);
    ({ Chat } = (await import(`../../examples/${name}/src/Chat.tsx`)) as { Chat: typeof Chat });
  });
  afterAll(() => {
    globalThis.fetch = direct;
    served?.server.kill();
  });

  const open = (taskId: string) => {
    const place = document.createElement('main');
    document.body.replaceChildren(place);
    root = createRoot(place);
    root.render(createElement(Chat, { taskId }));
  };

  test('takes a turn with a permission, and history has the same', async () => {
    const { id } = await client.createTask({ title: name });
    open(id);
    await type('write a.txt: hi');
    await click('Send');
    await click('Allow');
    const turn = await ended(id);
    expect(turn.finishReason).toBe('stop');
    const { messages } = await client.messages(id, { turn: turn.id, wait: '5s' });
    expect(messages[0]).toMatchObject({ role: 'USER', message: 'write a.txt: hi' });
    expect(messages.flatMap((message) => message.artifacts).filter(isToolUse)).toMatchObject([
      { content: { toolName: 'write_file', state: 'done' } },
    ]);
    const last = messages.at(-1)?.message ?? '';
    expect(last).not.toBe('');
    await until(() => shown().includes(last));
  });

  test('finds a running turn after a reload, and stops its agent', async () => {
    const { id } = await client.createTask({ title: name });
    open(id);
    await type('slow 600');
    await click('Send');
    await until(() => shown().includes('1 2 3'));
    root?.unmount();
    open(id);
    await until(() => shown().includes('1 2 3 4 5'));
    await click('Stop');
    expect(await ended(id)).toMatchObject({ reason: 'aborted' });
  });
});
