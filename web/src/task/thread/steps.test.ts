import { expect, it } from 'vitest';
import type { Interaction } from '../../app/types.ts';
import type { Item, ToolItem, ToolState } from './items.ts';
import { chunksOf, foldSteps, tookOf } from './steps.ts';

const tool = (key: string, state: ToolState = 'done', permission?: Interaction): ToolItem => ({
  kind: 'tool',
  key,
  toolCallId: key,
  name: 'read',
  input: {},
  output: '',
  error: '',
  state,
  ...(permission && { permission }),
});
const text = (key: string): Item => ({ kind: 'text', key, text: key, growing: false });
const shown = (items: Item[], running = false) =>
  foldSteps(items, running).map((i) => (i.kind === 'steps' ? i.tools.map((t) => t.key).join('+') : i.key));

const four = ['a', 'b', 'c', 'd'].map((key) => tool(key));

it('folds four calls in a row, not three', () => {
  expect(shown(four)).toEqual(['a+b+c+d']);
  expect(shown(four.slice(1))).toEqual(['b', 'c', 'd']);
  expect(shown([...four.slice(0, 2), text('t'), ...four.slice(2)])).toEqual(['a', 'b', 't', 'c', 'd']);
});

it.each([
  ['a failed call', tool('x', 'error')],
  ['a denied call', tool('x', 'denied')],
  ['a command with an exit code', { ...tool('x'), exit: 3 }],
  ['a call that was asked about', tool('x', 'done', {} as Interaction)],
])('leaves %s in sight', (_what, x) => {
  expect(shown([...four, x, ...four])).toEqual(['a+b+c+d', 'x', 'a+b+c+d']);
  expect(shown([tool('1'), tool('2'), x, tool('3')])).toEqual(['1', '2', 'x', '3']);
});

it('shows the last calls of a turn that runs', () => {
  expect(shown(four, true)).toEqual(['a', 'b', 'c', 'd']);
  expect(shown([...four, text('t'), ...four], true)).toEqual(['a+b+c+d', 't', 'a', 'b', 'c', 'd']);
});

it('knows how long the calls took together', () => {
  const timed = (from: number, to: number) => ({ ...tool('x'), from, to });
  expect(tookOf([timed(1000, 3000), timed(1500, 9000), timed(4000, 5000)])).toBe(8000);
  expect(tookOf([timed(1000, 3000), tool('y')])).toBe(0);
  expect(tookOf([timed(5000, 3000)])).toBe(0);
});

const work = (steps: number) => Array.from({ length: steps }, (_, i) => [text(`t${i}`), tool(`c${i}`)]).flat();

it('divides a long turn where a text begins, and loses no item', () => {
  const items = work(49);
  const chunks = chunksOf(items);
  expect(chunks.flat()).toEqual(items);
  expect(chunks.length).toBeGreaterThan(10);
  expect(chunks.every(([first]) => first?.kind === 'text')).toBe(true);
  expect(Math.max(...chunks.map((c) => c.length))).toBeLessThanOrEqual(9);
});

it('divides no row of calls', () => {
  const calls = Array.from({ length: 30 }, (_, i) => tool(`c${i}`));
  expect(chunksOf([text('t'), ...calls])).toHaveLength(1);
  expect(chunksOf([])).toEqual([]);
});

it('changes only the last chunk when items are appended', () => {
  const items = work(20);
  for (let n = 1; n < items.length; n++) {
    const [before, after] = [chunksOf(items.slice(0, n)), chunksOf(items.slice(0, n + 1))];
    expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    expect(after[before.length - 1]?.[0]).toBe(before.at(-1)?.[0]);
  }
});
