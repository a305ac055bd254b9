import { describe, expect, it } from 'vitest';
import { upsert } from './history.ts';
import { row } from './kit.ts';

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
