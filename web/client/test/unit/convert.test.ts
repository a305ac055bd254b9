import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { NativePart } from '../../src/index.js';
import type { UiChunk } from '../../src/ui/chunk.js';
import { newConverter } from '../../src/ui/convert.js';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../../agenthost/api/uistream/testdata/${name}`, import.meta.url), 'utf8');
const lines = (name: string) =>
  fixture(`${name}.parts.jsonl`)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as NativePart);
type Loose = Record<string, unknown> & { type: string };

/** The golden stream, without the differences of a page that does not know the tools. */
function golden(name: string): Loose[] {
  const chunks = fixture(`${name}.ui.sse`)
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Loose);
  return chunks.filter((chunk) => !(chunk.type === 'tool-output-error' && chunk.toolCallId === 'call-3')).map(plain);
}

/** Removes ids that the SDK made at random in the two dumps, and our marks on tools. */
function plain({ dynamic: _d, providerExecuted: _p, messageMetadata: _m, ...chunk }: Loose): Loose {
  const made = (value: unknown) => (typeof value === 'string' && value.startsWith('aitxt-') ? 'made' : value);
  return Object.fromEntries(
    Object.entries({ ...chunk, messageId: undefined })
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, made(value)]),
  ) as Loose;
}

const convert = (parts: NativePart[], converter = newConverter(() => 'm')) =>
  parts.flatMap((part) => converter.convert(part));
const looks = (chunks: UiChunk[]) => chunks.map((chunk) => plain(chunk as Loose));

describe('the golden streams of the AI SDK', () => {
  test.each(['v5.turn1', 'v6.turn1', 'v7.turn1'])('%s', (name) =>
    expect(looks(convert(lines(name)))).toEqual(golden(name)),
  );

  test.each(['v6', 'v7'].flatMap((version) => [`${version}.approve-true`, `${version}.approve-false`]))(
    '%s, after its first turn',
    (name) => {
      const converter = newConverter(() => 'm');
      const [, ...first] = lines(`${name.slice(0, 2)}.turn1`).reverse();
      convert(first.reverse(), converter);
      expect(looks(convert(lines(name), converter))).toEqual(golden(name).slice(1));
    },
  );

  test('tools are marked as dynamic and executed elsewhere, in every chunk that has the marks', () => {
    const tools = convert(lines('v7.turn1')).filter((chunk) =>
      /^tool-(input-(start|available|error)|output-(available|error))$/.test(chunk.type),
    );
    expect(tools.length).toBeGreaterThan(5);
    for (const chunk of tools) expect(chunk).toMatchObject({ dynamic: true, providerExecuted: true });
  });
});

describe('missing openers are added', () => {
  test.each<[string, NativePart[], string[]]>([
    [
      'a delta without its start',
      [{ type: 'text-delta', id: 't', text: 'x' }],
      ['start', 'start-step', 'text-start', 'text-delta'],
    ],
    ['an end without its start', [{ type: 'text-end', id: 't' }], []],
    [
      'an open text at the end',
      [{ type: 'text-delta', id: 't', text: 'x' }, { type: 'finish' }],
      ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'],
    ],
    [
      'a result without its call',
      [{ type: 'tool-result', toolCallId: 'c', toolName: 'ls', output: 1 }],
      ['start', 'start-step', 'tool-input-available', 'tool-output-available'],
    ],
    [
      'an error without its call',
      [{ type: 'tool-error', toolCallId: 'c', toolName: 'ls', error: 'x' }],
      ['start', 'start-step', 'tool-input-available', 'tool-output-error'],
    ],
    [
      'a denial without its call',
      [{ type: 'tool-output-denied', toolCallId: 'c' }],
      ['start', 'start-step', 'tool-input-available', 'tool-output-denied'],
    ],
    ['input of a call that did not begin', [{ type: 'tool-input-delta', id: 'c', delta: '{' }], []],
    [
      'a request without its call',
      [{ type: 'tool-approval-request', approvalId: 'a', toolCall: { toolCallId: 'c', toolName: 'rm' } }],
      ['start', 'start-step', 'tool-input-available', 'tool-approval-request'],
    ],
    ['an answer to no request', [{ type: 'tool-approval-response', approvalId: 'a', approved: true }], []],
    ['an answer to no question', [{ type: 'data-answer', id: 'q', data: { state: 'resolved' } }], []],
    ['a lone finish', [{ type: 'finish' }], ['start', 'finish']],
    ['an error', [{ type: 'error', error: { name: 'E', message: 'boom' } }], ['start', 'error']],
    [
      'unknown types',
      [{ type: 'data-new' } as unknown as NativePart, { type: 'novelty' } as unknown as NativePart, { type: 'raw' }],
      [],
    ],
  ])('%s', (_, parts, types) => expect(convert(parts).map((chunk) => chunk.type)).toEqual(types));
});

describe('a replay', () => {
  const turn: NativePart[] = [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', text: 'Hel' },
    { type: 'text-delta', id: 't', text: 'lo' },
    { type: 'text-end', id: 't' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'ls', input: {} },
    { type: 'tool-result', toolCallId: 'c', toolName: 'ls', output: 1 },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', text: 'Bye' },
    { type: 'text-end', id: 't' },
    { type: 'finish', finishReason: 'stop' },
  ];
  const gap: NativePart = {
    type: 'data-resume',
    data: { verdict: 'gap', from: '1-1', to: '1-9', openInteractions: [] },
  };

  test.each(turn.map((_, at) => at))('after %i parts shows nothing twice and loses nothing', (at) => {
    const converter = newConverter(() => 'm');
    const chunks = [...convert(turn.slice(0, at), converter), ...convert([gap, ...turn], converter)];
    const shown = chunks.filter((chunk) => chunk.type !== 'data-resume');
    expect(shown).toEqual(convert(turn));
  });

  test('with complete texts as one delta shows the rest of them', () => {
    const converter = newConverter(() => 'm');
    convert(turn.slice(0, 2), converter);
    const rest = convert(
      [
        gap,
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', text: 'Hello' },
        { type: 'text-end', id: 't' },
      ],
      converter,
    );
    expect(rest.slice(1)).toEqual([
      { type: 'text-delta', id: 't', delta: 'lo' },
      { type: 'text-end', id: 't' },
    ]);
  });

  test('does not show a permission that was answered', () => {
    const call = { toolCallId: 'c', toolName: 'rm', input: {} };
    const chunks = convert([
      { type: 'data-resume', data: { verdict: 'ok', from: '1-1', to: '1-4', openInteractions: ['b'] } },
      { type: 'tool-approval-request', approvalId: 'a', toolCall: call },
      { type: 'tool-approval-response', approvalId: 'a', approved: true },
      { type: 'tool-result', ...call, output: 1 },
      { type: 'tool-approval-request', approvalId: 'b', toolCall: { ...call, toolCallId: 'd' } },
    ]);
    expect(chunks.filter((chunk) => chunk.type.startsWith('tool-approval'))).toEqual([
      { type: 'tool-approval-request', approvalId: 'b', toolCallId: 'd' },
    ]);
  });
});

test('a question is one data part whose state changes', () => {
  const chunks = convert([
    { type: 'data-ask', id: 'q', data: { prompt: 'Which?', default: 'a' } },
    { type: 'data-answer', id: 'q', data: { state: 'resolved', answer: { text: 'b' } } },
  ]);
  expect(chunks.slice(2)).toEqual([
    { type: 'data-ask', id: 'q', data: { prompt: 'Which?', default: 'a', state: 'open' } },
    { type: 'data-ask', id: 'q', data: { prompt: 'Which?', default: 'a', state: 'resolved', answer: 'b' } },
  ]);
});

test('the finish has usage and reason', () => {
  expect(
    convert([
      { type: 'finish', finishReason: 'other', rawFinishReason: 'host-restarted', totalUsage: { outputTokens: 1 } },
    ]).at(-1),
  ).toEqual({
    type: 'finish',
    finishReason: 'other',
    messageMetadata: { usage: { outputTokens: 1 }, reason: 'host-restarted' },
  });
});

test.each(['data-notice', 'data-queued', 'data-context-restored'] as const)('%s is shown and not kept', (type) => {
  const data = { level: 'info', message: 'm' };
  expect(convert([{ type, data }]).at(-1)).toEqual({ type, data, transient: true });
});
