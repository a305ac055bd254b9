import { describe, expect, it } from 'vitest';
import { row } from '../task/kit.ts';
import { answerTo, cleanDraft, requestPrompt, splitDraft } from './draft.ts';

const turn = { id: 't1' } as never;

describe('the draft of a commit message', () => {
  const rows = [
    row({ seq: 1, id: 'asked', role: 'USER', turnId: 't1', message: 'Write a message' }),
    row({ seq: 2, turnId: 't1', message: 'I look at the changes.' }),
    row({ seq: 3, turnId: 't1', message: 'Open the shop' }),
    row({ seq: 4, turnId: 't1', message: ' ' }),
    row({ seq: 5, turnId: 't2', message: 'Another turn' }),
  ];
  it('is the last text of the turn that the question began', () => {
    expect(answerTo(rows, 'asked', { openTurn: null, lastTurn: turn })).toBe('Open the shop');
  });
  it('is not there before the turn has ended', () => {
    expect(answerTo(rows, 'asked', { openTurn: 't1', lastTurn: null })).toBeUndefined();
    expect(answerTo(rows, 'asked', { openTurn: 't1', lastTurn: turn })).toBeUndefined();
    expect(answerTo(rows, 'queued', { openTurn: null, lastTurn: turn })).toBeUndefined();
    expect(answerTo(rows, '', { openTurn: null, lastTurn: turn })).toBeUndefined();
  });
  it('is empty when the turn had no text', () => {
    expect(answerTo(rows.slice(0, 1), 'asked', { openTurn: null, lastTurn: turn })).toBe('');
  });
  it('is empty when the turn failed, was stopped or was cut', () => {
    const ended = (finishReason: string, reason = '') =>
      answerTo(rows, 'asked', { openTurn: null, lastTurn: { id: 't1', finishReason, reason } as never });
    expect(ended('stop')).toBe('Open the shop');
    expect(ended('error')).toBe('');
    expect(ended('other', 'aborted')).toBe('');
    expect(ended('length')).toBe('');
  });
  it('is there although the next turn has begun already', () => {
    const more = [...rows, row({ seq: 6, role: 'USER', turnId: 't3', message: 'Next' })];
    expect(answerTo(rows, 'asked', { openTurn: 't3', lastTurn: { id: 't2' } as never })).toBeUndefined();
    expect(answerTo(more, 'asked', { openTurn: 't3', lastTurn: { id: 't2' } as never })).toBe('Open the shop');
  });
  it('loses the fence around it', () => {
    expect(cleanDraft('```text\nOpen the shop\n\nIt is late.\n```\n')).toBe('Open the shop\n\nIt is late.');
    expect(cleanDraft(' Open the shop ')).toBe('Open the shop');
    expect(cleanDraft('Run:\n```\nmake\n```')).toBe('Run:\n```\nmake\n```');
  });
});

describe('the draft of a pull request', () => {
  it.each([
    [
      'a title and a description',
      'Open the shop\n\nIt is late.\n\n- really',
      'Open the shop',
      'It is late.\n\n- really',
    ],
    ['a title alone', 'Open the shop', 'Open the shop', ''],
    ['a heading', '# Open the shop\nIt is late.', 'Open the shop', 'It is late.'],
    ['a marked title', '**Title:** Open the shop\n\n## Why', 'Open the shop', '## Why'],
    ['an issue', '#12 is closed', '#12 is closed', ''],
  ])('is %s', (_, text, title, body) => expect(splitDraft(text)).toEqual({ title, body }));
  it('has no longer title than a form takes', () => expect(splitDraft('x'.repeat(300)).title).toHaveLength(250));
  it('is asked for with the base, if one is known', () => {
    expect(requestPrompt('main')).toContain('commits of your branch that main does not have.');
    expect(requestPrompt('')).toContain('commits of your branch.');
  });
});
