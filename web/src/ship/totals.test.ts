import { describe, expect, it } from 'vitest';
import type { DiffFile } from '../app/types.ts';
import { othersOf } from './discard.tsx';
import { totalsOf } from './totals.ts';

describe('the totals of a task', () => {
  it('count files and lines', () => {
    const file = { additions: 57, deletions: 87 };
    expect(totalsOf({ files: [file] })).toBe('1 file +57 −87');
    expect(totalsOf({ files: [file, { additions: 1, deletions: 0 }] })).toBe('2 files +58 −87');
    expect(totalsOf({ files: [] })).toBe('');
  });

  it('count what the list leaves out', () => {
    const total = { files: 2600, additions: 5200, deletions: 1 };
    expect(totalsOf({ files: [{ additions: 2, deletions: 0 }], total })).toBe('2600 files +5200 −1');
  });
});

describe('a file that became a directory', () => {
  it('is discarded with what is in its place', () => {
    const file = (path: string, oldPath?: string): DiffFile => ({
      path,
      oldPath,
      status: 'added',
      additions: 0,
      deletions: 0,
    });
    const files = [file('a'), file('a/x'), file('a/y', 'old'), file('old/z'), file('ab'), file('b')];
    const names = (of: number) => othersOf(files[of] as DiffFile, files).map((f) => f.path);
    expect(names(0)).toEqual(['a/x', 'a/y', 'old/z']);
    expect(names(1)).toEqual(['a', 'a/y', 'old/z']);
    expect(names(4)).toEqual([]);
  });
});
