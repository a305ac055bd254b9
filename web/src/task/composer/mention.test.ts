import { describe, expect, it } from 'vitest';
import { commandAt, completed, completedCommand, mentionAt } from './mention.ts';

describe('mentionAt', () => {
  it.each([
    ['@', { start: 0, end: 1, query: '' }],
    ['see @src/ma', { start: 4, end: 11, query: 'src/ma' }],
    ['(@a', { start: 1, end: 3, query: 'a' }],
    ['line\n@b', { start: 5, end: 7, query: 'b' }],
    ['@"my file', { start: 0, end: 9, query: 'my file' }],
  ])('finds the path that is typed in %j', (text, mention) => expect(mentionAt(text, text.length)).toEqual(mention));
  it.each(['', 'me@example.org', '@a ', '@a@b', 'a'])('finds none in %j', (text) =>
    expect(mentionAt(text, text.length)).toBeNull(),
  );
  it('looks at the caret, not at the end', () => {
    expect(mentionAt('@a and more', 2)).toEqual({ start: 0, end: 2, query: 'a' });
    expect(mentionAt('@a and more', 6)).toBeNull();
  });
});

describe('completed', () => {
  const complete = (text: string, path: string, caret = text.length) => {
    const mention = mentionAt(text, caret);
    return mention && completed(text, mention, path);
  };
  it('puts a file in place of what was typed, and a space behind it', () => {
    expect(complete('see @ma', 'src/main.go')).toEqual({ text: 'see @src/main.go ', caret: 17 });
    expect(complete('see @ma now', 'src/main.go', 7)).toEqual({ text: 'see @src/main.go now', caret: 16 });
  });
  it('lets a directory be typed on', () => {
    expect(complete('@sr', 'src/')).toEqual({ text: '@src/', caret: 5 });
    expect(complete('@my', 'my files/')).toEqual({ text: '@"my files/', caret: 11 });
  });
  it('quotes a path with spaces', () => {
    expect(complete('@"my f', 'my files/a b.txt')).toEqual({ text: '@"my files/a b.txt" ', caret: 20 });
  });
});

describe('a slash command', () => {
  it('is the first word of a message', () => {
    expect(commandAt('/', 1)).toEqual({ start: 0, end: 1, query: '' });
    expect(commandAt('/rev the', 4)).toEqual({ start: 0, end: 4, query: 'rev' });
    for (const [text, caret] of [
      ['/rev the', 5],
      [' /rev', 5],
      ['see /rev', 8],
      ['/rev', 0],
    ] as const)
      expect(commandAt(text, caret)).toBeNull();
  });

  it('replaces its typed letters', () => {
    const typed = (text: string, caret: number) => {
      const at = commandAt(text, caret);
      return at && completedCommand(text, at, 'review');
    };
    expect(typed('/re', 3)).toEqual({ text: '/review ', caret: 8 });
    expect(typed('/rexx the last', 3)).toEqual({ text: '/review the last', caret: 8 });
    expect(typed('/re\nmore', 3)).toEqual({ text: '/review \nmore', caret: 8 });
  });
});
