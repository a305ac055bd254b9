import { describe, expect, it } from 'vitest';
import { totalsOf } from './totals.ts';

describe('the totals of a task', () => {
  it('count files and lines', () => {
    const file = { additions: 57, deletions: 87 };
    expect(totalsOf([file])).toBe('1 file +57 −87');
    expect(totalsOf([file, { additions: 1, deletions: 0 }])).toBe('2 files +58 −87');
    expect(totalsOf([])).toBe('');
  });
});
