import { describe, expect, it } from 'vitest';
import { parsePatch } from './parse.ts';
import { changedWords, markWords } from './words.ts';

/** The marked words of both lines. */
function words(before: string, after: string, steps?: number) {
  const found = changedWords(before, after, steps === undefined ? undefined : { steps });
  return found && [found.before.map(([a, b]) => before.slice(a, b)), found.after.map(([a, b]) => after.slice(a, b))];
}

describe('changedWords', () => {
  it.each([
    ['return a + b', 'return a - b', [['+'], ['-']]],
    ['const rate = 10;', 'const rateLimit = 10;', [['rate'], ['rateLimit']]],
    ['one two three four', 'one three four', [['two '], []]],
    ['f(a, b, c)', 'f(a, x, c, d)', [['b'], ['x', ', d']]],
    ['  indented();', '      indented();', [['  '], ['      ']]],
    ['größe = 1', 'größer = 1', [['größe'], ['größer']]],
    ['same', 'same', [[], []]],
  ])('%j → %j', (before, after, marked) => expect(words(before, after)).toEqual(marked));

  it.each([
    ['import x from "y"', 'while (true) {'],
    ['a', 'b'],
    ['', 'something'],
  ])('marks nothing in lines that share nothing: %j, %j', (before, after) => expect(words(before, after)).toBeNull());

  it('marks the middle of lines that are too long to compare', () => {
    const [start, end] = ['a '.repeat(5_000), ' z'.repeat(5_000)];
    expect(words(`${start}old${end}`, `${start}new!${end}`)).toEqual([['old'], ['new!']]);
  });
  it('marks the middle when there are too many words', () =>
    expect(words('keep one two keep', 'keep two one keep', 1)).toEqual([['one two'], ['two one']]));
});

describe('markWords', () => {
  it('marks only lines that replace each other', () => {
    const { hunks } = parsePatch('@@ -1,3 +1,3 @@\n a b\n-let x = 1\n-gone\n+let x = 2\n@@ -9 +9,2 @@\n c\n+new\n')[0]!;
    expect([...markWords(hunks)].map(([line, marks]) => [line.text, marks])).toEqual([
      ['let x = 1', [[8, 9]]],
      ['let x = 2', [[8, 9]]],
    ]);
  });
  it('spends a limited time on a file of long lines', () => {
    const line = (w: string) => Array.from({ length: 900 }, (_, i) => `${w}${i}`).join('|');
    const half = (a: string, b: string) => `${'same '.repeat(60)}${line(a).slice(0, 1_500)}${b}`;
    const removed = Array.from({ length: 200 }, (_, i) => `-${half('a', String(i))}`);
    const added = Array.from({ length: 200 }, (_, i) => `+${half('b', String(i))}`);
    const { hunks } = parsePatch(`@@ -1,200 +1,200 @@\n${[...removed, ...added].join('\n')}\n`)[0]!;
    const budgeted = { steps: 0 };
    expect(changedWords(half('a', '1'), half('b', '2'), budgeted)).not.toBeUndefined();
    expect(markWords(hunks).size).toBeLessThanOrEqual(400);
  });
});
