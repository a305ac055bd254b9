import { describe, expect, it } from 'vitest';
import { pathInPatch } from './names.ts';
import { parsePatch } from './parse.ts';

describe('the path of a name in a patch', () => {
  it.each([
    ['a/b c.txt', 'a/b c.txt'],
    ['ü', 'ü'],
    ['"\\303\\274.txt"', 'ü.txt'],
    ['"a\\\\b"', 'a\\b'],
    ['"caf\\351.txt"', '"caf\\351.txt"'],
    ['"d\\377/\\303\\274\\n/x"', '"d\\377"/"ü\\n"/x'],
    ['"\\"caf\\\\351.txt\\""', '"\\"caf\\\\351.txt\\""'],
    ['"t\\tq\\"b\\\\\\033\\177"', '"t\\tq\\"b\\\\\\033\\177"'],
    ['"\\"a\\""', '"a"'],
    ['"\\355\\240\\200"', '"\\355\\240\\200"'],
    ['\u0085', '"\\302\\205"'],
  ])('%s is %s', (name, path) => expect(pathInPatch(name)).toBe(path));

  it('keeps files apart whose names are not UTF-8', () => {
    const head = (name: string) =>
      `diff --git "a/${name}" "b/${name}"\nnew file mode 100644\n--- /dev/null\n+++ "b/${name}"\n@@ -0,0 +1 @@\n+x\n`;
    const files = parsePatch(head('caf\\351') + head('caf\\350'));
    expect(files.map((f) => f.path)).toEqual(['"caf\\351"', '"caf\\350"']);
  });
});
