import { describe, expect, it } from 'vitest';
import { row } from '../task/kit.ts';
import { answerTo, cleanDraft } from './draft.ts';

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
  it('loses the fence around it', () => {
    expect(cleanDraft('```text\nOpen the shop\n\nIt is late.\n```\n')).toBe('Open the shop\n\nIt is late.');
    expect(cleanDraft(' Open the shop ')).toBe('Open the shop');
    expect(cleanDraft('Run:\n```\nmake\n```')).toBe('Run:\n```\nmake\n```');
  });
});
