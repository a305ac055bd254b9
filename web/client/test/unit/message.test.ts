import type { UIMessage } from 'ai';
import { describe, expect, test } from 'vitest';
import { shouldSendAutomatically } from '../../src/ai-sdk.js';
import { toUIMessages } from '../../src/history.js';
import type { Message, ToolUse } from '../../src/index.js';
import { markSent } from '../../src/ui/message.js';

const row = (message: Partial<Message>): Message => ({
  id: 'm',
  seq: 1,
  rev: 1,
  taskId: 't',
  turnId: 'turn',
  role: 'ASSISTANT',
  status: 'SENT',
  message: '',
  artifacts: [],
  eventId: '',
  createdAt: '',
  ...message,
});
const tool = (state: ToolUse['state'], output: unknown): Message =>
  row({
    artifacts: [
      {
        id: 'a',
        type: 'TOOL_USE',
        content: { toolCallId: state, toolName: 'ls', input: {}, output, isError: false, state },
      },
    ],
  });

describe('history', () => {
  test('is a message per turn, with its tools', () => {
    const shown = toUIMessages([
      row({ id: 'u', role: 'USER', message: 'hi' }),
      row({ message: 'Hello' }),
      tool('running', null),
      tool('done', 1),
      tool('error', 'no such file'),
      tool('denied', 'Denied by the user'),
      tool('unknown', null),
      row({ turnId: 'next', message: 'Bye' }),
    ]);
    expect(shown.map(({ id, role }) => [id, role])).toEqual([
      ['u', 'user'],
      ['turn', 'assistant'],
      ['next', 'assistant'],
    ]);
    expect(shown[1]!.parts.map((part) => ('state' in part ? part.state : ''))).toEqual([
      'done',
      'input-available',
      'output-available',
      'output-error',
      'output-error',
      'output-error',
    ]);
  });

  test('keeps other artifacts as data', () => {
    expect(toUIMessages([row({ artifacts: [{ id: 'd', type: 'DIFF', content: { patch: '' } }] })])[0]!.parts).toEqual([
      { type: 'data-diff', id: 'd', data: { patch: '' } },
    ]);
  });
});

describe('sending automatically', () => {
  const assistant = (...states: string[]): UIMessage =>
    ({
      id: states.join(),
      role: 'assistant',
      parts: states.map((state, at) => ({
        type: 'dynamic-tool',
        toolName: 'x',
        toolCallId: `${at}`,
        input: {},
        state,
        approval: { id: `a${at}`, approved: true },
      })),
    }) as unknown as UIMessage;

  test.each<[string, UIMessage[], boolean]>([
    ['there is no message', [], false],
    ['the user spoke last', [{ id: 'u', role: 'user', parts: [] }], false],
    ['there was no question', [assistant('output-available')], false],
    ['an answer waits', [assistant('approval-responded')], true],
    ['an answer waits while a tool runs', [assistant('approval-responded', 'input-available')], true],
    ['a question is still open', [assistant('approval-responded', 'approval-requested')], false],
  ])('%s', (_, messages, sends) => expect(shouldSendAutomatically({ messages })).toBe(sends));

  test('an answer is sent once', () => {
    const message = assistant('approval-responded', 'output-available');
    markSent(message, 'a0');
    expect(shouldSendAutomatically({ messages: [message] })).toBe(false);
  });
});
