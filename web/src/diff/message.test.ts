import { describe, expect, it } from 'vitest';
import { reviewMessage } from './message.ts';
import type { LineComment } from './review.ts';

const comment = (more: Partial<LineComment>): LineComment => ({
  id: '1',
  path: 'src/a.go',
  side: 'after',
  line: 12,
  code: 'return nil',
  text: 'Return the error.',
  ...more,
});

describe('reviewMessage', () => {
  it('has path, line, code and text of one comment', () =>
    expect(reviewMessage([comment({})])).toBe(
      'A comment on your changes:\n\n`src/a.go`, line 12:\n```\nreturn nil\n```\nReturn the error.',
    ));
  it('puts several in the order of files and lines', () => {
    const text = reviewMessage(
      [
        comment({ path: 'gone.go', side: 'before', line: 2 }),
        comment({ path: 'b.go', line: 9 }),
        comment({ path: 'b.go', line: 3 }),
        comment({}),
      ],
      ['b.go', 'src/a.go'],
    );
    expect(text.split('\n')[0]).toBe('4 comments on your changes:');
    expect(text.match(/`.*line \d+:/g)).toEqual([
      '`b.go`, line 3:',
      '`b.go`, line 9:',
      '`src/a.go`, line 12:',
      '`gone.go`, removed line 2:',
    ]);
  });
  it('fences code that has fences', () =>
    expect(reviewMessage([comment({ code: '````js' })])).toContain('\n`````\n````js\n`````\n'));
  it.each([
    ['a`b', '"a\\u0060b"'],
    ['a\nb', '"a\\nb"'],
    ['a\u202eb', '"a\\u202eb"'],
    ['a\u{e0041}b', '"a\\udb40\\udc41b"'],
  ])('spells out the name %j', (path, shown) =>
    expect(reviewMessage([comment({ path })])).toContain(`\n${shown}, line 12:`),
  );
  it('leaves other names as they are', () =>
    expect(reviewMessage([comment({ path: 'größe/ä b.ts' })])).toContain('`größe/ä b.ts`, line'));
});
