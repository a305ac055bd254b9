import { expect, it } from 'vitest';
import { likelyHeight } from './height.ts';
import type { Item } from './items.ts';
import type { UserItem } from './merge.ts';

const text = (text: string): Item => ({ kind: 'text', key: 'text', text, growing: false });
const user = (text: string): UserItem => ({ id: '1', text, state: 'sent', files: [], at: undefined });

it('grows with the text, its lines and the rows', () => {
  const one = likelyHeight(undefined, [text('short')]);
  expect(likelyHeight(undefined, [text('long '.repeat(200))])).toBeGreaterThan(5 * one);
  expect(likelyHeight(undefined, [text('a\nb\nc\nd')])).toBeGreaterThan(2 * one);
  expect(
    likelyHeight(
      undefined,
      Array.from({ length: 10 }, () => text('short')),
    ),
  ).toBeGreaterThan(9 * one);
  expect(likelyHeight(user('question'), [text('short')])).toBeGreaterThan(one);
});

it('counts a row without text as a line', () => {
  expect(likelyHeight(undefined, [text('')])).toBe(likelyHeight(undefined, [text('short')]));
  expect(likelyHeight(undefined, [])).toBe(0);
});
