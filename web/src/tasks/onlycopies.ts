import type { OnlyCopies, OnlyCopy, OnlyCopyKind } from '../app/types.ts';
import { spellName } from '../ui/bidi.ts';

interface KindNames {
  one: string;
  many: string;
  /** An item is one of these, and its count is something else. */
  single?: true;
  /** The names of the items say nothing to a user. */
  unnamed?: true;
}

const kinds: Record<Exclude<OnlyCopyKind, 'unknown'>, KindNames> = {
  changed: { one: 'changed file', many: 'changed files' },
  hidden: { one: 'changed file that git passes over', many: 'changed files that git passes over' },
  staged: { one: 'staged file', many: 'staged files' },
  ignored: { one: 'ignored file', many: 'ignored files' },
  unread: { one: 'file that cannot be read', many: 'files that cannot be read' },
  repository: { one: 'repository inside', many: 'repositories inside', single: true },
  submodule: { one: 'submodule', many: 'submodules', single: true },
  worktree: { one: 'linked work tree', many: 'linked work trees', single: true },
  commits: { one: 'commit', many: 'commits' },
  object: { one: 'tag', many: 'tags', single: true },
  stash: { one: 'stash', many: 'stashes', unnamed: true },
  reflog: { one: 'commit of no branch', many: 'commits of no branch', unnamed: true },
};

const other: KindNames = { one: 'other thing', many: 'other things', single: true };

/** A name of what would be lost, and how much it stands for; '' if it is one. */
export interface Lost {
  name: string;
  detail: string;
}

/** What would be lost of one kind. */
export interface LostKind {
  kind: string;
  title: string;
  items: Lost[];
}

/** The items of a list by kind, in its order. Every name is spelled, so that it can be shown. */
export function byKind({ items }: OnlyCopies): LostKind[] {
  const groups = new Map<string, OnlyCopy[]>();
  for (const item of items) groups.set(item.kind, [...(groups.get(item.kind) ?? []), item]);
  return [...groups].map(([kind, of]) => {
    if (kind === 'unknown')
      return { kind, title: 'Not known', items: of.map(({ name }) => ({ name: spellName(name), detail: '' })) };
    const names = kindNames(kind);
    return { kind, title: counted(of, names), items: names.unnamed ? [] : of.map(lostOf) };
  });
}

/** A list in some words: "2 changed files, 1 stash". */
export const summaryOf = (list: OnlyCopies): string =>
  byKind(list)
    .map((group) => (group.kind === 'unknown' ? group.items.map(({ name }) => name).join(', ') : group.title))
    .join(', ');

// Hosts of later versions may list other kinds.
const kindNames = (kind: string): KindNames => (Object.hasOwn(kinds, kind) ? kinds[kind as keyof typeof kinds] : other);

function counted(items: readonly OnlyCopy[], { one, many, single }: KindNames): string {
  const n = single ? items.length : items.reduce((sum, { count }) => sum + count, 0);
  return `${n} ${n === 1 ? one : many}`;
}

function lostOf({ kind, name, count }: OnlyCopy): Lost {
  const unit = kind === 'commits' ? ['commit', 'commits'] : ['file', 'files'];
  const isMany = count > 1 || kind === 'commits' || (kind === 'repository' && count > 0);
  return {
    name: spellName(name.replace(/^refs\/heads\//, '')),
    detail: isMany ? `${count} ${unit[count === 1 ? 0 : 1]}` : '',
  };
}
