import { describe, expect, it } from 'vitest';
import { anchor, byFile } from './anchor.ts';
import { parsePatch } from './parse.ts';
import type { LineComment } from './review.ts';

const file = parsePatch('@@ -1,4 +1,6 @@\n same\n-old\n+new\n+}\n+\n middle\n+}\n')[0]!;
const on = (line: number, code: string, side: LineComment['side'] = 'after'): LineComment => ({
  id: `${side}${line}${code}`,
  path: 'a',
  side,
  line,
  code,
  text: 'x',
});
const placeOf = (comment: LineComment) => {
  const { byLine, gone } = anchor([comment], file);
  return gone.length > 0 ? 'gone' : [...byLine.keys()].map((l) => l[comment.side])[0];
};

describe('anchor', () => {
  it.each([
    ['stays at its line', on(2, 'new'), 2],
    ['is on the removed line', on(2, 'old', 'before'), 2],
    ['moves with its line', on(40, 'new'), 2],
    ['moves to the nearest of equal lines', on(5, '}'), 6],
    ['… on the other side too', on(1, '}'), 3],
    ['does not move from an empty line', on(9, ''), 'gone'],
    ['stays at an empty line', on(4, ''), 4],
    ['is gone with its line', on(2, 'newer'), 'gone'],
    ['is gone when its side is', on(2, 'new', 'before'), 'gone'],
  ])('a comment %s', (_, comment, expected) => expect(placeOf(comment)).toBe(expected));

  it('finds a line by the part of it that a comment keeps', () => {
    const long = 'x'.repeat(5_000);
    const patch = parsePatch(`@@ -0,0 +1 @@\n+${long}\n`)[0]!;
    expect(anchor([on(1, long.slice(0, 2_000))], patch).gone).toEqual([]);
  });
  it('has every comment gone without the lines of the file', () =>
    expect(anchor([on(2, 'new')], undefined).gone).toHaveLength(1));
});

describe('byFile', () => {
  const changed = (path: string, oldPath?: string) => ({
    path,
    ...(oldPath && { oldPath }),
    status: 'renamed' as const,
    additions: 0,
    deletions: 0,
  });
  it('follows a rename, and keeps comments on other files apart', () => {
    const comments = ['new', 'old', 'elsewhere'].map((path) => ({ ...on(1, 'x'), path }));
    const lists = byFile(comments, [changed('new', 'old'), changed('other')]);
    expect(lists.map((l) => l.map((c) => c.path))).toEqual([['new', 'old'], [], ['elsewhere']]);
  });
});
