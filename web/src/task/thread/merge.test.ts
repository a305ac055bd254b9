import { describe, expect, it } from 'vitest';
import { assistant, row, text, toolRow } from '../kit.ts';
import { diffOf } from './items.ts';
import { groupRows, isFromTerminal, itemsOfTurn, mergeTurns } from './merge.ts';

const group = (...rows: ReturnType<typeof row>[]) => ({ turnId: 'turn', rows });
const texts = (items: ReturnType<typeof itemsOfTurn>) => items.flatMap((i) => (i.kind === 'text' ? [i.text] : []));
const running = {
  type: 'dynamic-tool' as const,
  toolCallId: 'call',
  toolName: 'run_command',
  state: 'input-available' as const,
  input: { command: 'make' },
};

describe('itemsOfTurn', () => {
  it('shows the stream if it has as much as history, and nothing twice', () => {
    const items = itemsOfTurn(
      group(row({ seq: 2, message: 'Hello' })),
      assistant([text('Hello'), text('and mo', 'streaming')]),
    );
    expect(texts(items)).toEqual(['Hello', 'and mo']);
  });
  it('shows history until a replay has as much', () => {
    const rows = group(row({ seq: 2, message: 'Hello there' }), toolRow(3, { state: 'done' }));
    expect(texts(itemsOfTurn(rows, assistant([text('Hel', 'streaming')])))).toEqual(['Hello there']);
  });
  it('shows history when there is no stream', () => {
    expect(itemsOfTurn(group(row({ seq: 2, message: 'a' }), toolRow(3, { state: 'denied' })), undefined)).toMatchObject(
      [{ kind: 'text' }, { kind: 'tool', state: 'denied' }],
    );
  });
  it('shows only the stream before history has a row', () => {
    expect(texts(itemsOfTurn(undefined, assistant([text('Hi')])))).toEqual(['Hi']);
  });
  it('uses the tool result of history when the stream was cut before it', () => {
    const [item] = itemsOfTurn(group(toolRow(2, { state: 'done', output: 'ok' })), assistant([running]));
    expect(item).toMatchObject({ kind: 'tool', state: 'done', output: 'ok' });
  });
  it('takes the times of a call from history, and how its command exited from either', () => {
    const use = { state: 'done' as const, output: { exit: 3 }, startedAt: 1000, endedAt: 3500 };
    const live = assistant([{ ...running, state: 'output-available', output: { exit: 3 } }]);
    for (const shown of [itemsOfTurn(group(toolRow(2, use)), live), itemsOfTurn(group(toolRow(2, use)), undefined)])
      expect(shown).toMatchObject([{ kind: 'tool', exit: 3, from: 1000, to: 3500 }]);
    expect(itemsOfTurn(group(toolRow(2, {})), live)[0]).not.toHaveProperty('from');
  });
  it('gives an item the same key in history and stream, so that changing between them renders nothing again', () => {
    const rows = group(row({ seq: 2, message: 'one' }), toolRow(3, { state: 'done' }), row({ seq: 4, message: 'two' }));
    const live = assistant([
      text('one'),
      { type: 'reasoning', text: 'hm', state: 'done' },
      { ...running, state: 'output-available', output: 'x' },
      text('two'),
    ]);
    const keys = (items: ReturnType<typeof itemsOfTurn>) =>
      items.filter((i) => i.kind !== 'reasoning').map((i) => i.key);
    expect(keys(itemsOfTurn(rows, live))).toEqual(keys(itemsOfTurn(rows, undefined)));
  });
  it('keeps diffs from history along with the stream', () => {
    const diff = { files: [], patch: '' };
    const rows = group(
      row({ seq: 3, message: '', artifacts: [{ id: 'd', type: 'DIFF', content: JSON.stringify(diff) }] }),
    );
    expect(itemsOfTurn(rows, assistant([text('Hi')]))).toMatchObject([{ kind: 'text' }, { kind: 'diff', diff }]);
  });
});

it('shows the source documents of a text, with the stream too, and ignores what is none', () => {
  const documents = [{ title: 'Guide', url: 'https://x.example/g' }, { path: 'a.go' }, 'notes.md', 7, {}, null];
  const rows = group(row({ seq: 2, message: 'Hi', metadata: { source_documents: documents } }));
  const shown = [
    { kind: 'link', url: 'https://x.example/g', title: 'Guide' },
    { kind: 'link', url: '', title: 'a.go' },
    { kind: 'link', url: '', title: 'notes.md' },
  ];
  expect(itemsOfTurn(rows, undefined)).toMatchObject([{ kind: 'text' }, ...shown]);
  expect(itemsOfTurn(rows, assistant([text('Hi')]))).toMatchObject([{ kind: 'text' }, ...shown]);
  expect(
    itemsOfTurn(group(row({ seq: 2, message: 'Hi', metadata: { source_documents: 'x' } })), undefined),
  ).toHaveLength(1);
});

it('knows a turn that was made in a terminal', () => {
  expect(isFromTerminal(group(row({ seq: 1, role: 'USER' }), row({ seq: 2, origin: 'terminal' })))).toBe(true);
  expect(isFromTerminal(group(row({ seq: 2 })))).toBe(false);
  expect(isFromTerminal(undefined)).toBe(false);
});

describe('diffOf', () => {
  it.each([
    ['an object', { files: [], patch: 'p' }],
    ['JSON of one', '{"files":[],"patch":"p"}'],
  ])('takes %s', (_name, content) => {
    expect(diffOf(content)).toEqual({ files: [], patch: 'p' });
  });
  it.each([
    ['no JSON', '{'],
    ['no patch', { files: [] }],
    ['nothing', null],
  ])('refuses %s', (_name, content) => {
    expect(diffOf(content)).toBeNull();
  });
});

describe('groupRows', () => {
  it('keeps the group object while its rows do not change', () => {
    const rows = [row({ seq: 1, turnId: 'a' }), row({ seq: 2, turnId: 'b' })];
    const before = groupRows(rows, []);
    const after = groupRows([...rows, row({ seq: 3, turnId: 'b' })], before);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
  });
});

describe('mergeTurns', () => {
  const user = (id: string) => ({ id, role: 'user' as const, parts: [{ type: 'text' as const, text: 'do it' }] });
  it('shows a message that is being sent, and the growing answer below it', () => {
    const turns = mergeTurns([], new Map([['t2', assistant([text('On')], 't2')]]), user('u'), false);
    expect(turns).toMatchObject([
      { turnId: 't2', user: { id: 'u', text: 'do it', state: 'sending' }, live: { id: 't2' } },
    ]);
  });
  it('shows the message once when history has it too', () => {
    const groups = groupRows([row({ seq: 1, id: 'u', turnId: 't2', role: 'USER', message: 'do it' })], []);
    const turns = mergeTurns(groups, new Map([['t2', assistant([text('On')], 't2')]]), user('u'), false);
    expect(turns).toHaveLength(1);
    expect(turns[0]).toMatchObject({ user: { state: 'sent' }, live: { id: 't2' } });
  });
  it('reports that a message was not delivered', () => {
    expect(mergeTurns([], new Map(), user('u'), true)[0]?.user?.state).toBe('failed');
    const groups = groupRows([row({ seq: 1, role: 'USER', status: 'ERROR' })], []);
    expect(mergeTurns(groups, new Map(), undefined, false)[0]?.user?.state).toBe('failed');
  });
});

describe('the files of a message', () => {
  const content = { name: 'a.txt', mediaType: 'text/plain', bytes: 2 };
  const sent = row({ seq: 1, role: 'USER', artifacts: [{ id: 'f', type: 'ATTACHMENT', content }] });
  const files = (pending: Parameters<typeof mergeTurns>[2]) =>
    mergeTurns([group(sent)], new Map(), pending, false)[0]?.user?.files;

  it('are known by name from history', () => {
    expect(files(undefined)).toEqual([content]);
  });

  it('have their content on the page that sent them', () => {
    const part = {
      type: 'file' as const,
      mediaType: 'text/plain',
      filename: 'a.txt',
      url: 'data:text/plain;base64,aGk=',
    };
    expect(files({ id: sent.id, role: 'user', parts: [part] })).toEqual([
      { name: 'a.txt', mediaType: 'text/plain', url: part.url, bytes: 3 },
    ]);
  });
});
