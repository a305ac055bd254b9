import * as sdk5 from 'ai5';
import * as sdk6 from 'ai6';
import * as sdk7 from 'ai';
import type { ChatInit, UIMessage } from 'ai';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { BellhopClient } from '../../src/index.js';
import { chatOf, until } from '../kit/chat.js';

/** The SDK's own transport, which checks every chunk, reads the host's UI message stream. The page contains no code
 * of ours. */
const versions = [
  [5, sdk5],
  [6, sdk6],
  [7, sdk7],
] as unknown as [number, typeof sdk7][];

let client: BellhopClient;
let taskId: string;

beforeEach(async () => {
  client = new BellhopClient({ endpoint: inject('brokerUrl'), token: inject('token') });
  taskId = (await client.createTask({ title: 'Of the SDK alone' })).id;
});

const counted = (n: number) => Array.from({ length: n }, (_, at) => at + 1).join(' ');
const signedIn = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

function open(version: number, sdk: typeof sdk7, messages: UIMessage[] = []) {
  const format = `?format=ui&v=${version}`;
  const transport = new sdk.DefaultChatTransport<UIMessage>({
    prepareSendMessagesRequest: async ({ messages }) => {
      const prompt = messages
        .at(-1)!
        .parts.map((part) => (part.type === 'text' ? part.text : ''))
        .join('');
      const { streamUrl, streamToken } = await client.checkIn({ taskId, message: prompt });
      return { api: streamUrl + format, body: { prompt }, ...signedIn(streamToken) };
    },
    prepareReconnectToStreamRequest: async () => {
      const { streamUrl, streamToken } = await client.attach(taskId);
      return { api: streamUrl + format, ...signedIn(streamToken) };
    },
  });
  const Chat = chatOf(sdk);
  const init: ChatInit<UIMessage> = {
    id: taskId,
    transport,
    messages,
    onToolCall: () => expect.unreachable("remote tools are not the page's"),
  };
  return new Chat(init);
}

/** Answers the agent's question over the broker, which works in every version. */
async function answer(approved: boolean): Promise<void> {
  for (;;) {
    const [asked] = (await client.interactions('open')).filter((interaction) => interaction.taskId === taskId);
    if (!asked) continue;
    await client.answer(asked.id, { approved });
    return;
  }
}

describe.each(versions)('the AI SDK %i reads the host by itself:', (version, sdk) => {
  test('text and tools', async () => {
    const chat = open(version, sdk);
    await chat.sendMessage({ text: 'list then slow 6' });
    expect(chat.error).toBeUndefined();
    expect(chat.text).toContain(counted(6));
    expect(chat.tools).toBe('list_dir:output-available');
    await chat.sendMessage({ text: 'slow 4' });
    expect(chat.text).toBe(counted(4));
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(chat.status).toBe('ready');
  });

  test.each([true, false])('a permission, answered %s elsewhere', async (approved) => {
    const chat = open(version, sdk);
    const sent = chat.sendMessage({ text: 'write a.txt: hi then slow 4' });
    await answer(approved);
    await sent;
    expect(chat.error).toBeUndefined();
    expect(chat.tools).toBe(
      `write_file:${approved ? 'output-available' : version > 5 ? 'output-denied' : 'output-error'}`,
    );
    expect(chat.text).toContain(counted(4));
    if (version === 5)
      expect(chat.data('data-approval')).toMatchObject([{ toolName: 'write_file', state: 'resolved', approved }]);
    expect(chat.messages).toHaveLength(2);
  });

  test('an open permission is shown', async () => {
    const chat = open(version, sdk);
    const sent = chat.sendMessage({ text: 'write a.txt: hi' });
    await until(() => (version > 5 ? chat.approval !== undefined : chat.data('data-approval').length === 1));
    expect(chat.status).toBe('streaming');
    await answer(true);
    await sent;
    expect(chat.tools).toBe('write_file:output-available');
  });

  test('a failed tool and a failed turn', async () => {
    const chat = open(version, sdk);
    await chat.sendMessage({ text: 'read nothing.txt' });
    expect(chat.error).toBeUndefined();
    expect(chat.tools).toBe('read_file:output-error');
    await chat.sendMessage({ text: 'fail' });
    expect(chat.status).toBe('error');
    expect(chat.text).toContain('asked me to fail');
  });

  test('an interrupt', async () => {
    const chat = open(version, sdk);
    const sent = chat.sendMessage({ text: 'slow 600' });
    await until(() => chat.text.includes('3'));
    await client.interrupt(taskId);
    await sent;
    expect(chat.error).toBeUndefined();
    expect(chat.status).toBe('ready');
    expect(chat.text).not.toContain('300');
  });

  test('a question, asked once and answered', async () => {
    const chat = open(version, sdk);
    const sent = chat.sendMessage({ text: 'ask Which?' });
    await until(() => chat.data('data-ask').length === 1);
    const id = (chat.lastMessage!.parts.find((part) => part.type === 'data-ask') as { id: string }).id;
    await client.answer(id, { text: 'this' });
    await sent;
    expect(chat.error).toBeUndefined();
    expect(chat.data('data-answer')).toMatchObject([{ state: 'resolved', answer: { text: 'this' } }]);
    expect(chat.text).toContain('this');
  });

  test('a reloaded page shows one message', async () => {
    const before = open(version, sdk);
    const sent = before.sendMessage({ text: 'list then slow 20' });
    await until(() => before.text.includes('4 5'));
    const chat = open(version, sdk, structuredClone(before.messages));
    await chat.resumeStream();
    await sent;
    for (const { error, text, tools, messages } of [before, chat]) {
      expect(error).toBeUndefined();
      expect(text.match(/I will look at/g)).toHaveLength(1);
      expect(text).toContain(counted(20));
      expect(tools).toBe('list_dir:output-available');
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    }
    await chat.resumeStream();
    expect(chat.status).toBe('ready');
    expect(chat.messages).toHaveLength(2);
  });
});
