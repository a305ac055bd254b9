import { expect, it } from 'vitest';
import type { Interaction } from '../../app/types.ts';
import type { Item, ToolItem, ToolState } from './items.ts';
import { foldSteps, tookOf } from './steps.ts';

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
