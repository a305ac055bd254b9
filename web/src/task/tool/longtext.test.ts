import { describe, expect, it } from 'vitest';
import { cutText, previewSize } from './longtext.tsx';

describe('cutText', () => {
  it('does not change a short text', () => expect(cutText('a\nb')).toEqual({ text: 'a\nb', cut: false }));
  it('cuts a line of a mebibyte', () => {
    const { text, cut } = cutText('x'.repeat(1 << 20));
    expect(cut).toBe(true);
    expect(text.length).toBeLessThanOrEqual(previewSize.line + 1);
  });
  it('cuts after a number of lines', () =>
    expect(cutText('a\n'.repeat(1000)).text.split('\n')).toHaveLength(previewSize.lines));
  it('shows ten times as much on demand', () => expect(cutText('a\n'.repeat(1000), 10).cut).toBe(false));
});
