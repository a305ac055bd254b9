import type { ChatInit, UIMessage } from 'ai';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { BellhopTransport, shouldSendAutomatically, type BellhopOptions } from '../../src/ai-sdk.js';
import { brokerUrl, FakeBellhop } from '../kit/fake.js';
import { Chat, until } from '../kit/chat.js';

const major = inject('major');
let server: FakeBellhop;
let servers = 0;

beforeEach(() => {
  server = new FakeBellhop(`turn-${++servers}`);
});

function open(
  options: BellhopOptions = {},
  init: Partial<ChatInit<UIMessage>> = {},
): { chat: Chat; transport: BellhopTransport } {
  const transport = new BellhopTransport({ endpoint: brokerUrl, taskId: 'task', fetch: server.fetch, ...options });
  const onToolCall = () => expect.unreachable("remote tools are not the page's");
  return {
    transport,
    chat: new Chat({ id: 'chat', transport, sendAutomaticallyWhen: shouldSendAutomatically, onToolCall, ...init }),
  };
}

const approves = (approved: boolean) => {
  server.script = (turn) =>
    turn
      .text('t1', 'May I?')
      .send({ type: 'tool-call', toolCallId: 'c0', toolName: 'Grep', input: {} })
      .ask('a1', 'c1');
  server.onAnswer = (turn, approvalId, body) => {
    turn.send({ type: 'tool-approval-response', approvalId, approved: body.approved === true });
    turn.send({ type: 'tool-result', toolCallId: 'c0', toolName: 'Grep', output: [] });
    if (approved) turn.send({ type: 'tool-result', toolCallId: 'c1', toolName: 'Bash', output: 0 });
    else turn.send({ type: 'tool-output-denied', toolCallId: 'c1', toolName: 'Bash' });
    turn.text('t2', 'Done').finish();
  };
};

describe('a chat', () => {
  test('shows text and tools, and the turn is its message', async () => {
    server.script = (turn) => {
      turn.text('t1', 'Hello ', 'you').tool('c1', 'Read', 'package main');
      turn.send(
        { type: 'tool-call', toolCallId: 'c2', toolName: 'Bash', input: {} },
        { type: 'tool-error', toolCallId: 'c2', toolName: 'Bash', error: 'exit 1' },
      );
      turn.text('t1', 'Bye').finish();
    };
    const { chat } = open();
    await chat.sendMessage({ text: 'hi' });
    expect(chat.text).toBe('Hello you|Bye');
    expect(chat.tools).toBe('Read:output-available,Bash:output-error');
    expect(chat.lastMessage).toMatchObject({ id: server.turn.id, metadata: { usage: { outputTokens: 2 } } });
    expect(chat.status).toBe('ready');
    expect(server.calls[0]!.body).toMatchObject({ taskId: 'task', message: 'hi', messageId: chat.messages[0]!.id });
  });

  test('takes a second turn', async () => {
    const { chat } = open();
    await chat.sendMessage({ text: 'one' });
    await chat.sendMessage({ text: 'two' });
    expect(chat.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(new Set(chat.messages.map((message) => message.id)).size).toBe(4);
  });

  test('sends images, texts and PDFs to the agent, and other files as artifacts', async () => {
    const { chat } = open();
    await chat.sendMessage({
      text: 'look',
      files: [
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
        { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,aGk=', filename: 'a.txt' },
        { type: 'file', mediaType: 'application/pdf', url: 'data:application/pdf;base64,JVBERg==' },
        { type: 'file', mediaType: 'application/zip', url: 'data:application/zip;base64,aGk=', filename: 'a.zip' },
        { type: 'file', mediaType: 'image/png', url: 'https://example.org/a.png' },
      ],
    });
    const zip = { mediaType: 'application/zip', url: 'data:application/zip;base64,aGk=', filename: 'a.zip' };
    expect(server.calls[0]!.body.artifacts).toEqual([
      { type: 'FILE', content: zip },
      { type: 'FILE', content: { mediaType: 'image/png', url: 'https://example.org/a.png', filename: '' } },
    ]);
    expect(server.calls[1]!.body.attachments).toEqual([
      { type: 'image', mediaType: 'image/png', data: 'aGk=' },
      { type: 'document', mediaType: 'text/plain', name: 'a.txt', data: 'aGk=' },
      { type: 'document', mediaType: 'application/pdf', data: 'JVBERg==' },
    ]);
  });

  test('cut three times in a turn neither doubles nor loses text', async () => {
    let cuts = 3;
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    server.onTurn = (turn) =>
      queueMicrotask(() => {
        turn.send({ type: 'text-delta', id: 't', text: `${cuts} ` });
        if (cuts-- > 0) setTimeout(() => turn.cut());
        else turn.send({ type: 'text-end', id: 't' }).finish();
      });
    const { chat } = open();
    await chat.sendMessage({ text: 'hi' });
    expect(chat.text).toBe('3 2 1 0 ');
    expect(chat.messages).toHaveLength(2);
  });

  test('whose stream stalls reconnects', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    const { chat } = open({ idleMs: 50 });
    const sent = chat.sendMessage({ text: 'hi' });
    await until(() => server.count('GET', '/stream/task') > 0);
    server.turn.send({ type: 'text-delta', id: 't', text: 'awake' }).finish();
    await sent;
    expect(chat.text).toBe('awake');
  });

  test('survives a 503 and shows the error of the broker', async () => {
    server.fail('POST /stream/task', 503);
    const { chat } = open();
    await chat.sendMessage({ text: 'hi' });
    expect(chat.text).toBe('Hello you');
    server.fail('POST /api/agent', [404, { error: 'Task not found', code: 'not_found' }]);
    await chat.sendMessage({ text: 'again' });
    expect(chat.status).toBe('error');
    expect(chat.error).toMatchObject({ message: 'Task not found', code: 'not_found' });
  });

  test('that failed to send is sent again under the same id', async () => {
    server.fail('POST /api/agent', [502, { error: 'Failed to connect to agent server', code: 'bad_gateway' }]);
    const { chat } = open();
    await chat.sendMessage({ text: 'hi' });
    expect(chat.status).toBe('error');
    await chat.regenerate();
    await chat.regenerate();
    const ids = server.calls.filter((call) => call.path === '/api/agent').map((call) => call.body.messageId);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(chat.text).toBe('Hello you');
  });

  test('shows the error that ends a turn', async () => {
    server.script = (turn) => turn.text('t', 'Trying').send({ type: 'error', error: 'the model is away' });
    const { chat } = open();
    await chat.sendMessage({ text: 'hi' });
    expect(chat.error?.message).toBe('the model is away');
    expect(chat.text).toBe('Trying');
  });

  test('that loses its host for good is disconnected, with the text kept', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'half' });
    let disconnected: unknown;
    const { chat } = open({ maxRetries: 0 }, { onFinish: ({ isDisconnect }) => void (disconnected = isDisconnect) });
    const sent = chat.sendMessage({ text: 'hi' });
    await until(() => chat.text === 'half');
    server.turn.cut();
    await sent;
    expect(disconnected).toBe(true);
    expect(chat.text).toBe('half');
    expect(chat.error?.message).toContain('http://host.test');
  });
});

describe('stopping', () => {
  test('detaches from the turn, and resuming catches up without doubles', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'one ' });
    const { chat } = open();
    const sent = chat.sendMessage({ text: 'hi' });
    await until(() => chat.text === 'one ');
    await chat.stop();
    await sent;
    expect(chat.status).toBe('ready');
    await until(() => server.turn.readers.size === 0);
    server.turn.send({ type: 'text-delta', id: 't', text: 'two ' });
    const resumed = chat.resumeStream();
    await until(() => chat.text === 'one two ');
    server.turn.send({ type: 'text-delta', id: 't', text: 'three' }).finish();
    await resumed;
    expect(chat.text).toBe('one two three');
    expect(chat.messages).toHaveLength(2);
    expect(server.turn.over).toBe(true);
  });

  test('interrupt stops the agent, and the stream ends by itself', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'one' });
    const { chat, transport } = open();
    const sent = chat.sendMessage({ text: 'hi' });
    await until(() => chat.text === 'one');
    await transport.interrupt();
    await sent;
    expect(chat.status).toBe('ready');
  });

  test('nothing runs: resuming changes nothing', async () => {
    const { chat } = open();
    await chat.sendMessage({ text: 'hi' });
    const before = structuredClone(chat.messages);
    await chat.resumeStream();
    expect(chat.messages).toEqual(before);
    expect(chat.status).toBe('ready');
  });
});

describe('a reload', () => {
  test('during a turn continues in the same message', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'one ' });
    const before = open().chat;
    void before.sendMessage({ text: 'hi' });
    await until(() => before.text === 'one ');
    const { chat } = open({}, { messages: structuredClone(before.messages) });
    const resumed = chat.resumeStream();
    await until(() => chat.status === 'streaming');
    server.turn.send({ type: 'text-delta', id: 't', text: 'two' }).finish();
    await resumed;
    expect(chat.text).toBe('one two');
    expect(chat.messages).toHaveLength(2);
  });
});

if (major > 5)
  describe('a permission', () => {
    test.each([
      [true, 'output-available'],
      [false, 'output-denied'],
    ] as const)(
      'answered %s goes on in the same message, past a tool that runs in parallel',
      async (approved, state) => {
        approves(approved);
        const { chat } = open();
        await chat.sendMessage({ text: 'hi' });
        expect(chat.status).toBe('ready');
        expect(chat.tools).toBe('Grep:input-available,Bash:approval-requested');
        await chat.addToolApprovalResponse({ id: chat.approval!.id, approved, reason: 'because' });
        await until(() => chat.text.endsWith('Done') && chat.status === 'ready');
        expect(chat.tools).toBe(`Grep:output-available,Bash:${state}`);
        expect(chat.messages).toHaveLength(2);
        expect(server.answers).toEqual([{ id: 'a1', body: { approved, reason: 'because' } }]);
      },
    );

    test('can be allowed for the session', async () => {
      approves(true);
      const { chat } = open();
      await chat.sendMessage({ text: 'hi' });
      await chat.addToolApprovalResponse({ id: 'a1', approved: true, options: { body: { remember: 'session' } } });
      await until(() => chat.text.endsWith('Done'));
      expect(server.answers[0]!.body).toEqual({ approved: true, remember: 'session' });
    });

    test('is answered before a later one is asked', async () => {
      server.script = (turn) => turn.ask('a1', 'c1').ask('a2', 'c2');
      server.onAnswer = (turn, id) => {
        turn.send({ type: 'tool-approval-response', approvalId: id, approved: true });
        turn.send({ type: 'tool-result', toolCallId: id.replace('a', 'c'), toolName: 'Bash', output: 0 });
        if (id === 'a2') turn.finish();
      };
      const { chat } = open();
      await chat.sendMessage({ text: 'hi' });
      for (const id of ['a1', 'a2']) {
        await until(() => chat.status === 'ready' && chat.approval?.id === id);
        await chat.addToolApprovalResponse({ id, approved: true });
      }
      await until(() => chat.tools === 'Bash:output-available,Bash:output-available' && chat.status === 'ready');
      expect(server.answers.map(({ id }) => id)).toEqual(['a1', 'a2']);
    });

    test('that is open at a reload is asked again', async () => {
      approves(true);
      const before = open().chat;
      await before.sendMessage({ text: 'hi' });
      const { chat } = open({}, { messages: structuredClone(before.messages) });
      await chat.resumeStream();
      expect(chat.approval?.id).toBe('a1');
      expect(chat.messages).toHaveLength(2);
      await chat.addToolApprovalResponse({ id: 'a1', approved: true });
      await until(() => chat.text.endsWith('Done') && chat.status === 'ready');
      expect(chat.messages).toHaveLength(2);
    });

    test('that is answered without a resume after a reload attaches first', async () => {
      approves(true);
      const before = open().chat;
      await before.sendMessage({ text: 'hi' });
      const { chat } = open({}, { messages: structuredClone(before.messages) });
      await chat.addToolApprovalResponse({ id: 'a1', approved: true });
      await until(() => chat.text.endsWith('Done') && chat.status === 'ready');
      expect(chat.tools).toBe('Grep:output-available,Bash:output-available');
    });

    test('answered elsewhere notifies the page, and a resume shows the remaining turn', async () => {
      approves(true);
      const answered: string[] = [];
      const { chat } = open({ onAnswered: (id) => void answered.push(id) });
      await chat.sendMessage({ text: 'hi' });
      server.onAnswer(server.turn, 'a1', { approved: true });
      await until(() => answered.length > 0);
      expect(answered).toEqual(['a1']);
    });

    test('answered elsewhere before a resume is not asked again', async () => {
      approves(true);
      const before = open().chat;
      await before.sendMessage({ text: 'hi' });
      server.turn.send({ type: 'tool-approval-response', approvalId: 'a1', approved: true });
      const { chat } = open({}, { messages: structuredClone(before.messages) });
      const resumed = chat.resumeStream();
      await until(() => chat.status === 'streaming');
      server.turn.send({ type: 'tool-result', toolCallId: 'c1', toolName: 'Bash', output: 0 }).finish();
      await resumed;
      expect(chat.tools).toContain('Bash:output-available');
      expect(server.answers).toEqual([]);
    });

    test('that has another answer is shown as the stream reports it', async () => {
      approves(false);
      server.answerStatus = 409;
      const { chat } = open();
      await chat.sendMessage({ text: 'hi' });
      await chat.addToolApprovalResponse({ id: 'a1', approved: true });
      await until(() => server.answers.length > 0);
      server.onAnswer(server.turn, 'a1', { approved: false });
      await until(() => chat.text.endsWith('Done') && chat.status === 'ready');
      expect(chat.tools).toContain('Bash:output-denied');
    });

    test('for an ended turn is not retried forever', async () => {
      approves(true);
      const { chat } = open();
      await chat.sendMessage({ text: 'hi' });
      server.turn.send({ type: 'abort', reason: 'aborted' });
      await chat.addToolApprovalResponse({ id: 'a1', approved: true });
      await until(() => chat.status === 'ready');
      await until(() => server.turn.readers.size === 0);
      const calls = server.calls.length;
      await Promise.resolve();
      expect(server.calls).toHaveLength(calls);
    });
  });

describe('mode live', () => {
  test.each([
    [true, 'Bash:output-available'],
    [false, major > 5 ? 'Bash:output-denied' : 'Bash:output-error'],
  ] as const)('keeps the stream and takes %s by respond', async (approved, state) => {
    approves(approved);
    const { chat, transport } = open({ approvals: 'live' });
    const sent = chat.sendMessage({ text: 'hi' });
    await until(() => chat.data('data-approval').length > 0);
    expect(chat.status).toBe('streaming');
    expect(chat.data('data-approval')).toEqual([
      { toolCallId: 'c1', toolName: 'Bash', input: { command: 'make' }, state: 'open' },
    ]);
    await transport.respond('a1', { approved });
    await sent;
    expect(chat.tools).toContain(state);
    expect(chat.data('data-approval')).toMatchObject([{ state: 'resolved', approved }]);
    expect(chat.messages).toHaveLength(2);
  });

  test('respond answers a question', async () => {
    server.script = (turn) => turn.send({ type: 'data-ask', id: 'q1', data: { prompt: 'Which?' } });
    server.onAnswer = (turn, id, body) =>
      turn.send({ type: 'data-answer', id, data: { state: 'resolved', answer: { text: String(body.text) } } }).finish();
    const { chat, transport } = open();
    const sent = chat.sendMessage({ text: 'hi' });
    await until(() => chat.data('data-ask').length > 0);
    await transport.respond('q1', { text: 'this' });
    await sent;
    expect(chat.data('data-ask')).toEqual([{ prompt: 'Which?', state: 'resolved', answer: 'this' }]);
  });
});
