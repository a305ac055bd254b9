import { createContext, useContext, useEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';
import { describe } from '../app/http.ts';
import type { FileEntry, Task } from '../app/types.ts';
import { sizeText } from '../task/composer/attachments.ts';
import { spellName } from '../ui/bidi.ts';
import { cx } from '../ui/class.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { useDirectory } from './api.ts';
import treeStyles from '../diff/filetree.module.css';
import styles from './files.module.css';

interface Shown {
  task: Task;
  chosen: string;
  open: ReadonlySet<string>;
  withIgnored: boolean;
  onToggle: (directory: string) => void;
  onOpen: (file: string) => void;
}

const Context = createContext<Shown | null>(null);

function useShown(): Shown {
  const shown = useContext(Context);
  if (!shown) throw new Error('not in a tree');
  return shown;
}

/** The files of a workspace by directory. The arrow keys move in it, Enter opens a file. */
export function Tree(shown: Shown) {
  const tree = useRef<HTMLDivElement>(null);
  // One row at a time can be reached with Tab: the one that had the focus last, or the first.
  useEffect(() => {
    const rows = rowsOf(tree.current);
    if (!rows.some((r) => r.tabIndex === 0) && rows[0]) rows[0].tabIndex = 0;
  });
  return (
    <div
      ref={tree}
      className={cx(treeStyles.tree, styles.tree)}
      role="tree"
      aria-label="Files"
      onKeyDown={onKey}
      onFocus={({ target }) => {
        if (target.role !== 'treeitem') return;
        for (const row of rowsOf(tree.current)) row.tabIndex = row === target ? 0 : -1;
      }}
    >
      <Context value={shown}>
        <Directory path="" level={1} />
      </Context>
    </div>
  );
}

const rowsOf = (tree: Element | null) => [...(tree?.querySelectorAll<HTMLElement>('[role="treeitem"]') ?? [])];

function onKey(event: KeyboardEvent<HTMLElement>) {
  const row = event.target;
  if (!(row instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = rowsOf(event.currentTarget);
  const at = rows.indexOf(row);
  const expanded = row.getAttribute('aria-expanded');
  const level = (r: HTMLElement | undefined) => Number(r?.getAttribute('aria-level'));
  const act: Record<string, () => void> = {
    ArrowDown: () => rows[at + 1]?.focus(),
    ArrowUp: () => rows[at - 1]?.focus(),
    Home: () => rows[0]?.focus(),
    End: () => rows.at(-1)?.focus(),
    ArrowRight: () => (expanded === 'false' ? row.click() : expanded === 'true' && rows[at + 1]?.focus()),
    ArrowLeft: () =>
      expanded === 'true'
        ? row.click()
        : rows
            .slice(0, at)
            .findLast((r) => level(r) < level(row))
            ?.focus(),
    Enter: () => row.click(),
    ' ': () => row.click(),
  };
  if (at < 0 || !act[event.key]) return;
  event.preventDefault();
  act[event.key]?.();
}

function Directory({ path, level }: { path: string; level: number }) {
  const { task, open, withIgnored } = useShown();
  const query = useDirectory(task, path);
  const pages = query.data?.pages ?? [];
  const all = pages.flatMap((p) => p.entries);
  const entries = withIgnored ? all : all.filter((e) => !e.ignored);
  const last = pages.at(-1);
  return (
    <>
      {entries.map((entry) => {
        const full = path === '' ? entry.name : `${path}/${entry.name}`;
        const isOpen = entry.kind === 'directory' && open.has(full);
        return (
          <div key={full} role="presentation">
            <EntryRow entry={entry} path={full} level={level} open={isOpen} />
            {isOpen && (
              <div role="group">
                <Directory path={full} level={level + 1} />
              </div>
            )}
          </div>
        );
      })}
      {query.isPending && <Row level={level}>Loading …</Row>}
      {query.error && (
        <Row level={level} icon="retry" onPress={() => void query.refetch()}>
          {describe(query.error).message}. Read it again
        </Row>
      )}
      {last && entries.length === 0 && !query.hasNextPage && (
        <Row level={level}>{all.length > 0 ? 'Only ignored files' : 'Empty'}</Row>
      )}
      {query.hasNextPage && (
        <Row level={level} icon="more" onPress={() => void query.fetchNextPage()}>
          {query.isFetchingNextPage ? 'Loading …' : `Show more of ${(last?.total ?? 0).toLocaleString('en')}`}
        </Row>
      )}
      {last?.cut && <Row level={level}>The directory has too many entries to show all.</Row>}
      {(last?.unnamed ?? 0) > 0 && <Row level={level}>{last?.unnamed} names that are no UTF-8 are left out.</Row>}
    </>
  );
}

const icons: Record<string, IconName> = { file: 'file', link: 'out', other: 'warn' };

function EntryRow(props: { entry: FileEntry; path: string; level: number; open: boolean }) {
  const { entry, path, level, open } = props;
  const { chosen, onToggle, onOpen } = useShown();
  const isDirectory = entry.kind === 'directory';
  const press = isDirectory ? () => onToggle(path) : entry.kind === 'file' ? () => onOpen(path) : undefined;
  return (
    <Row
      level={level}
      icon={isDirectory ? (open ? 'down' : 'right') : icons[entry.kind]}
      expanded={isDirectory ? open : undefined}
      selected={path === chosen}
      soft={entry.ignored}
      onPress={press}
    >
      <bdi>{spellName(entry.name)}</bdi>
      {entry.target !== undefined && <span className={styles.target}> → {spellName(entry.target)}</span>}
      {entry.kind === 'other' && <span className={styles.target}> is no file</span>}
      {entry.ignored && <span className="visually-hidden"> ignored</span>}
      {entry.kind === 'file' && <span className={treeStyles.treeCounts}>{sizeText(entry.size ?? 0)}</span>}
    </Row>
  );
}

interface RowProps {
  level: number;
  icon?: IconName | undefined;
  expanded?: boolean | undefined;
  selected?: boolean;
  soft?: boolean | undefined;
  onPress?: (() => void) | undefined;
  children: ReactNode;
}

function Row({ level, icon, expanded, selected = false, soft, onPress, children }: RowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of its items.
    <div
      role="treeitem"
      className={cx(treeStyles.treeRow, soft && styles.ignored, !onPress && styles.still)}
      style={{ paddingInlineStart: `${level * 0.8}rem` }}
      tabIndex={-1}
      aria-level={level}
      aria-selected={selected}
      aria-expanded={expanded}
      onClick={onPress}
    >
      {icon && <Icon name={icon} size={12} />}
      <span className={styles.name}>{children}</span>
    </div>
  );
}
