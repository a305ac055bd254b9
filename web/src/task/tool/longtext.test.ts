import { describe, expect, it } from 'vitest';
import { cutText, firstLook } from './longtext.tsx';

describe('cutText', () => {
  it('leaves a short text alone', () => expect(cutText('a\nb')).toEqual({ text: 'a\nb', cut: false }));
  it('cuts a line of a mebibyte', () => {
    const { text, cut } = cutText('x'.repeat(1 << 20));
    expect(cut).toBe(true);
    expect(text.length).toBeLessThanOrEqual(firstLook.line + 1);
  });
  it('cuts after so many lines', () =>
    expect(cutText('a\n'.repeat(1000)).text.split('\n')).toHaveLength(firstLook.lines));
  it('shows ten times as much when asked for more', () => expect(cutText('a\n'.repeat(1000), 10).cut).toBe(false));
});
