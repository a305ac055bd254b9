import { describe, expect, it } from 'vitest';
import { History, upsert } from './history.ts';
import { confirm, row } from './kit.ts';
import { addEndings, addQuestions } from './turns.ts';

describe('upsert', () => {
  it('appends new rows by seq, in whatever order they arrive', () => {
    expect(upsert([row({ seq: 1 })], [row({ seq: 3 }), row({ seq: 2 })]).map((r) => r.seq)).toEqual([1, 2, 3]);
  });
  it('replaces a row by its id and keeps the other objects', () => {
    const [a, b] = [row({ seq: 1 }), row({ seq: 2 })];
    const out = upsert([a, b], [row({ seq: 2, rev: 9, message: 'done' })]);
    expect(out[0]).toBe(a);
    expect(out[1]?.message).toBe('done');
    expect(out).toHaveLength(2);
  });
  it('keeps the newer state when an older one arrives late', () => {
    const out = upsert([row({ seq: 1, rev: 5, message: 'new' })], [row({ seq: 1, rev: 4, message: 'old' })]);
    expect(out[0]?.message).toBe('new');
  });
  it('returns the same list without changes', () => {
    const rows = [row({ seq: 1 })];
    expect(upsert(rows, [])).toBe(rows);
  });
});

describe('the ends and questions of turns', () => {
  const end = { id: 't1', finishReason: 'other' as const, reason: 'aborted', usage: null };
  it('keeps an end for ever', () => {
    const known = addEndings(new Map(), [end]);
    expect(addEndings(known, [{ ...end, reason: 'host-lost' }])).toBe(known);
    expect(addEndings(known, [{ ...end, id: 't2' }]).get('t1')).toBe(end);
  });
  it('replaces a question by its id, and keeps the others of other turns', () => {
    const first = addQuestions(new Map(), [confirm(), confirm({ id: 'other', turnId: 'another' })]);
    const next = addQuestions(first, [confirm({ state: 'expired' })]);
    expect(next.get('turn')?.map((q) => q.state)).toEqual(['expired']);
    expect(next.get('another')).toBe(first.get('another'));
  });
});

describe('the rev of the rows', () => {
  it('is reached when the rows before it are rendered', () => {
    const history = new History('t');
    expect(history.isAt(1)).toBe(false);
    history.apply(row({ seq: 1, rev: 4 }), 4);
    expect(history.isAt(4)).toBe(false);
    history.flush();
    expect(history.isAt(4)).toBe(true);
    expect(history.isAt(5)).toBe(false);
    let calls = 0;
    history.subscribe(() => calls++);
    history.addEnding(null, 5);
    expect([history.isAt(5), calls]).toEqual([true, 1]);
  });
});
