import { expect, it } from 'vitest';
import { likelyHeight, likelyHeightOfMessage } from './height.ts';
import type { Item } from './items.ts';
import type { UserItem } from './merge.ts';

const text = (text: string): Item => ({ kind: 'text', key: 'text', text, growing: false });
const user = (text: string): UserItem => ({ id: '1', text, state: 'sent', files: [], at: undefined });

it('grows with the text, its lines and the rows', () => {
  const one = likelyHeight([text('short')]);
  expect(likelyHeight([text('long '.repeat(200))])).toBeGreaterThan(5 * one);
  expect(likelyHeight([text('a\nb\nc\nd')])).toBeGreaterThan(2 * one);
  expect(likelyHeight(Array.from({ length: 10 }, () => text('short')))).toBeGreaterThan(9 * one);
  expect(likelyHeightOfMessage(user('a question '.repeat(200)))).toBeGreaterThan(
    10 * likelyHeightOfMessage(user('question')),
  );
  expect(likelyHeightOfMessage(undefined)).toBe(0);
});

it('counts a row without text as a line', () => {
  expect(likelyHeight([text('')])).toBe(likelyHeight([text('short')]));
  expect(likelyHeight([])).toBe(0);
});
