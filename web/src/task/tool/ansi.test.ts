import { describe, expect, it } from 'vitest';
import { parseAnsi } from './ansi.ts';

describe('parseAnsi', () => {
  it('parses colours and their end', () => {
    expect(parseAnsi('\u001b[31mred\u001b[0m plain \u001b[1;92mbold green')).toEqual([
      { text: 'red', style: 'c1' },
      { text: ' plain ', style: '' },
      { text: 'bold green', style: 'c10 bold' },
    ]);
  });
  it.each([
    ['moves of the cursor', 'a\u001b[2J\u001b[10;10Hb', 'ab'],
    ['titles of a window', 'a\u001b]0;evil\u0007b', 'ab'],
    ['links of a terminal', 'a\u001b]8;;http://evil\u001b\\b', 'ab'],
    ['a sequence without end', 'a\u001b[31', 'a'],
    ['control characters', 'a\u0000\u0007b', 'ab'],
    ['24-bit colours, which are not ours', '\u001b[38;2;1;2;3ma', 'a'],
    ['all but the last state of a progress bar', '10%\r50%\r100%\nend', '100%\nend'],
  ])('drops %s', (_name, input, want) =>
    expect(
      parseAnsi(input)
        .map((s) => s.text)
        .join(''),
    ).toBe(want),
  );
  it('escapes bidirectional control characters', () => expect(parseAnsi('a\u202eb')[0]?.text).toBe('a�b'));
  it('limits the number of styled pieces and keeps the text', () => {
    const spans = parseAnsi(Array.from({ length: 20_000 }, (_, i) => `\u001b[3${i % 8}mx`).join(''));
    expect(spans.length).toBeLessThanOrEqual(5_000);
    expect(spans.reduce((n, s) => n + s.text.length, 0)).toBe(20_000);
  });
});
