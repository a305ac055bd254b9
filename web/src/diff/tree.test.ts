import { describe, expect, it } from 'vitest';
import { treeRows } from './tree.ts';

const files = ['README.md', 'src/app/a.ts', 'src/app/b.ts', 'src/ui/deep/x.ts', '__proto__/constructor'].map(
  (path) => ({ path, status: 'added' as const, additions: 1, deletions: 0 }),
);
const drawn = (closed: string[] = []) =>
  treeRows(files, new Set(closed)).map((r) => `${'  '.repeat(r.level - 1)}${r.name}${r.file ?? '/'}`);

describe('treeRows', () => {
  it('shows folders before files and joins folders that hold only one', () =>
    expect(drawn()).toEqual([
      'src/',
      '  app/',
      '    a.ts1',
      '    b.ts2',
      '  ui/deep/',
      '    x.ts3',
      '__proto__/',
      '  constructor4',
      'README.md0',
    ]));
  it('hides what a closed folder has', () =>
    expect(drawn(['src/', '__proto__/'])).toEqual(['src/', '__proto__/', 'README.md0']));
  it.each(['', '/', '//', 'a//b', '/a'])('survives the path %j', (path) =>
    expect(treeRows([{ path, status: 'added', additions: 0, deletions: 0 }], new Set())).not.toHaveLength(0),
  );
});
