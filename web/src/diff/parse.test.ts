import { describe, expect, it } from 'vitest';
import { hunkText, pairs, parsePatch, placeOf } from './parse.ts';

const patch = `diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@ head
 same
-old
--- not a header
+new
 end
\\ No newline at end of file
diff --git a/new.bin b/new.bin
new file mode 100644
Binary files /dev/null and b/new.bin differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
`;

describe('parsePatch', () => {
  const files = parsePatch(patch);
  it('finds every file', () =>
    expect(files.map((f) => [f.path, f.binary])).toEqual([
      ['a.txt', false],
      ['new.bin', true],
      ['gone.txt', false],
    ]));
  it('numbers lines on both sides', () => {
    expect(files[0]?.hunks[0]?.lines).toEqual([
      { kind: 'same', text: 'same', before: 1, after: 1 },
      { kind: 'removed', text: 'old', before: 2, after: undefined },
      { kind: 'removed', text: '-- not a header', before: 3, after: undefined },
      { kind: 'added', text: 'new', before: undefined, after: 2 },
      { kind: 'same', text: 'end', before: 4, after: 3, unended: true },
    ]);
  });
  it('reads a plain unified diff', () => {
    const [file] = parsePatch('--- version 1\n+++ version 2\n@@ -1 +1 @@\n-{}\n+[\n');
    expect(file?.hunks[0]?.lines.map((l) => l.kind)).toEqual(['removed', 'added']);
  });
  it.each([
    ['a name with a space', 'diff --git a/a b/c b/a b/c\nBinary files a/a b/c and b/a b/c differ\n', 'a b/c'],
    ['a rename without changes', 'diff --git a/x b/y\nrename from x\nrename to y\n', 'y'],
    ['a deleted file', 'diff --git a/b/x b/b/x\n--- a/b/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n', 'b/x'],
    ['a name with letters that git quotes', 'diff --git "a/\\303\\244" "b/\\303\\244"\nnew file mode 100644\n', 'ä'],
    ['a name with a tab and a quote', 'diff --git "a/\\t\\"" "b/\\t\\""\n--- /dev/null\n+++ "b/\\t\\""\n', '"\\t\\""'],
    ['a name with a space at its end', '--- a/x \t\n+++ b/x \t\n@@ -1 +1 @@\n-a\n+b\n', 'x '],
  ])('names %s', (_, text, path) => expect(parsePatch(text).map((f) => f.path)).toEqual([path]));
  it('keeps the lines that name the contents of a binary file', () =>
    expect(parsePatch('diff --git a/i b/i\nindex 1..2 100644\nBinary files a/i and b/i differ\n')[0]?.head).toEqual([
      'diff --git a/i b/i',
      'index 1..2 100644',
      'Binary files a/i and b/i differ',
    ]));
  it.each(['', 'nonsense', '@@ broken', 'diff --git'])('survives %j', (text) =>
    expect(() => parsePatch(text)).not.toThrow(),
  );
});

describe('pairs', () => {
  it('pairs removed lines with the lines that replace them', () => {
    const lines = parsePatch('@@ -1,3 +1,2 @@\n a\n-b\n-c\n+d\n')[0]?.hunks[0]?.lines ?? [];
    expect(pairs(lines).map((p) => [p.left?.text, p.right?.text])).toEqual([
      ['a', 'a'],
      ['b', 'd'],
      ['c', undefined],
    ]);
  });
});

describe('a hunk', () => {
  const hunks = [
    '@@ -1,3 +1,3 @@ head\n same\n-old\n--- not a header\n+new\r\n end\n\\ No newline at end of file\n',
    '@@ -9 +9 @@\n-a\n\\ No newline at end of file\n+a\n',
    '@@ -20,2 +19,0 @@\n-\n-\t\n',
  ];
  const file = `diff --git a/a b/a\n--- a/a\n+++ b/a\n${hunks.join('')}`;
  it('has the text that the patch has', () => {
    expect(parsePatch(`${file}${file}`).map((f) => f.hunks.map(hunkText))).toEqual([hunks, hunks]);
  });
  it('is named by the lines that it is about', () => {
    const places = parsePatch(file)[0]?.hunks.map(placeOf);
    expect(places).toEqual(['lines 1 to 3', 'line 9', 'lines removed after line 19']);
    expect(placeOf({ header: '@@ -1,4 +0,0 @@', lines: [] })).toBe('all lines');
  });
});
