import { describe, expect, it } from 'vitest';
import { colourFile, languageOf } from './colours.ts';
import { parsePatch } from './parse.ts';

const fileOf = (path: string, lines: string) => ({ ...parsePatch(`@@ -1,9 +1,9 @@\n${lines}`)[0]!, path });
const drawn = (path: string, lines: string) =>
  [...colourFile(fileOf(path, lines))].map(([line, pieces]) => [line.text, pieces.map((p) => `${p.names}|${p.text}`)]);

describe('colourFile', () => {
  it('reads each side as code on its own', () =>
    expect(drawn('a.ts', '-const a = 1;\n+const a = "b";\n')).toEqual([
      ['const a = 1;', ['hljs-keyword|const', '| a = ', 'hljs-number|1', '|;']],
      ['const a = "b";', ['hljs-keyword|const', '| a = ', 'hljs-string|"b"', '|;']],
    ]));
  it('colours a comment over several lines, and loses no text', () => {
    const lines = [' /* one', '-two', '+three', ' four */ x()'];
    const found = colourFile(fileOf('a.go', `${lines.join('\n')}\n`));
    for (const [line, pieces] of found) expect(pieces.map((p) => p.text).join('')).toBe(line.text);
    expect([...found.values()].map((p) => p[0]?.names)).toEqual(Array(4).fill('hljs-comment'));
  });
  it.each([
    ['a file that is too long', 'a.ts', `+${'x;'.repeat(400)}\n`.repeat(100)],
    ['a line that is too long', 'a.ts', `+${'x;'.repeat(4_000)}\n`],
    ['an unknown language', 'a.unknown', '+let x\n'],
  ])('leaves %s without colours', (_, path, lines) => expect(colourFile(fileOf(path, lines)).size).toBe(0));
});

describe('languageOf', () => {
  it.each([
    ['src/a.tsx', 'tsx'],
    ['Makefile', 'makefile'],
    ['a.GO', 'go'],
    ['notes.txt', ''],
    ['constructor', ''],
    ['a.__proto__', ''],
    ['LICENSE', ''],
  ])('%s is %j', (path, language) => expect(languageOf(path)).toBe(language));
});
