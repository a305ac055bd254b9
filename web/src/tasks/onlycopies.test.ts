import { describe, expect, it } from 'vitest';
import type { OnlyCopies, OnlyCopy } from '../app/types.ts';
import { byKind, summaryOf } from './onlycopies.ts';

const list = (...items: OnlyCopy[]): OnlyCopies => ({ id: 'list', items });

describe('byKind', () => {
  it('counts files, commits and stashes, and names what has a name', () => {
    expect(
      byKind(
        list(
          { kind: 'changed', name: 'a.ts', count: 1 },
          { kind: 'changed', name: 'src/', count: 214 },
          { kind: 'repository', name: 'vendor/lib', count: 12 },
          { kind: 'submodule', name: 'modules/one', count: 0 },
          { kind: 'commits', name: 'refs/heads/main', count: 1 },
          { kind: 'stash', name: 'refs/stash', count: 2 },
          { kind: 'reflog', name: 'logs', count: 1 },
        ),
      ),
    ).toEqual([
      {
        kind: 'changed',
        title: '215 changed files',
        items: [
          { name: 'a.ts', detail: '' },
          { name: 'src/', detail: '214 files' },
        ],
      },
      { kind: 'repository', title: '1 repository inside', items: [{ name: 'vendor/lib', detail: '12 files' }] },
      { kind: 'submodule', title: '1 submodule', items: [{ name: 'modules/one', detail: '' }] },
      { kind: 'commits', title: '1 commit', items: [{ name: 'main', detail: '1 commit' }] },
      { kind: 'stash', title: '2 stashes', items: [] },
      { kind: 'reflog', title: '1 commit of no branch', items: [] },
    ]);
  });

  it('tells of kinds that it does not know, also of those that objects inherit', () => {
    for (const kind of ['later', 'constructor', '__proto__'])
      expect(byKind(list({ kind: kind as 'changed', name: 'x', count: 3 }))[0]).toMatchObject({
        title: '1 other thing',
        items: [{ name: 'x' }],
      });
  });

  it('spells what a name hides', () => {
    const [group] = byKind(list({ kind: 'ignored', name: 'a\u202egpj.\n.sh', count: 1 }));
    expect(group?.items[0]?.name).toBe('a\\u202egpj.\\n.sh');
  });
});

it('sums up a list', () => {
  expect(
    summaryOf(list({ kind: 'changed', name: 'a', count: 2 }, { kind: 'unknown', name: 'Its .git is gone', count: 0 })),
  ).toBe('2 changed files, Its .git is gone');
});
