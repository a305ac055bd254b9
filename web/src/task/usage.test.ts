import { describe, expect, it } from 'vitest';
import { contextOf, costOf, dollars, readUsage, tokens } from './usage.ts';

describe('what a turn used', () => {
  it('is read from whatever the agent reported', () => {
    expect(readUsage({ inputTokens: 3200, outputTokens: 1, costUSD: 0.5, energy: 3 })).toEqual({
      inputTokens: 3200,
      outputTokens: 1,
      costUSD: 0.5,
    });
    expect(readUsage({ inputTokens: '1', outputTokens: null, totalTokens: -1, costUSD: Infinity })).toEqual({});
    for (const nothing of [null, undefined, 7, 'text', []]) expect(readUsage(nothing)).toEqual({});
  });

  it('is shown in few letters', () => {
    expect([0, 999, 1000, 3249, 9949, 9951, 999_499, 999_500, 2_340_000].map(tokens)).toEqual([
      '0',
      '999',
      '1.0k',
      '3.2k',
      '9.9k',
      '10k',
      '999k',
      '1.0M',
      '2.3M',
    ]);
    expect([0.004, 0.01, 1.005, 12.3].map(dollars)).toEqual(['less than $0.01', '$0.01', '$1.00', '$12.30']);
    expect(costOf({ inputTokens: 3200, outputTokens: 1100, costUSD: 0.034 })).toBe('3.2k in, 1.1k out · $0.03');
    expect(costOf({ costUSD: 2 })).toBe('$2.00');
    expect(costOf({ outputTokens: 5 })).toBe('0 in, 5 out');
    expect(costOf({})).toBe('');
  });

  it('names the part of the context that is in use', () => {
    expect(contextOf({ contextTokens: 24_000, contextWindow: 200_000 })).toBe('12 % of the context');
    expect(contextOf({ contextTokens: 1, contextWindow: 200_000 })).toBe('1 % of the context');
    expect(contextOf({ contextTokens: 300_000, contextWindow: 200_000 })).toBe('100 % of the context');
    expect(contextOf({ contextTokens: 24_000 })).toBe('24k in the context');
    expect(contextOf({ contextWindow: 200_000 })).toBe('');
    expect(contextOf({})).toBe('');
  });
});
