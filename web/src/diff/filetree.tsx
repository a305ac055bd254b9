import { useMemo, useRef, useState, type KeyboardEvent } from 'react';
import type { DiffFile } from '../app/types.ts';
import { spellName } from '../ui/bidi.ts';
import { Icon } from '../ui/icon.tsx';
import { treeRows, type TreeRow } from './tree.ts';
import styles from './filetree.module.css';

interface Props {
  files: readonly DiffFile[];
  /** For each file: whether it was viewed, and how many comments it has. */
  viewed: readonly boolean[];
  comments: readonly number[];
  onGo: (file: number) => void;
}

/** The changed files by folder. The arrow keys move in it, Enter goes to a file. */
export function FileTree({ files, viewed, comments, onGo }: Props) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => treeRows(files, closed), [files, closed]);
  const [chosen, setChosen] = useState('');
  const list = useRef<HTMLDivElement>(null);
  const current = rows.some((r) => r.key === chosen) ? chosen : rows[0]?.key;
  const icon = (row: TreeRow) => <Icon name={closed.has(row.key) ? 'right' : 'down'} size={12} />;

  const toggle = ({ key }: TreeRow, close = !closed.has(key)) => {
    const next = new Set(closed);
    if (close) next.add(key);
    else next.delete(key);
    setClosed(next);
  };
  const press = (row: TreeRow) => {
    setChosen(row.key);
    if (row.file === undefined) toggle(row);
    else onGo(row.file);
  };
  const onKey = (event: KeyboardEvent) => {
    const at = rows.findIndex((r) => r.key === current);
    const row = rows[at];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = actOf(event.key, rows, at, closed);
    if (!act) return;
    event.preventDefault();
    if (act === 'press') press(row);
    else if (act === 'open' || act === 'close') toggle(row, act === 'close');
    else if (rows[act.to]) {
      setChosen(rows[act.to]?.key ?? '');
      list.current?.querySelectorAll<HTMLElement>('[role="treeitem"]')[act.to]?.focus();
    }
  };
  return (
    <div ref={list} className={styles.tree} role="tree" aria-label="Changed files" onKeyDown={onKey}>
      {rows.map((row) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of its items.
        <div
          key={row.key}
          role="treeitem"
          className={styles.treeRow}
          style={{ paddingInlineStart: `${row.level * 0.8}rem` }}
          tabIndex={row.key === current ? 0 : -1}
          aria-level={row.level}
          aria-selected={row.key === chosen}
          aria-expanded={row.file === undefined ? !closed.has(row.key) : undefined}
          onClick={() => press(row)}
        >
          {row.file === undefined ? (
            <>
              {icon(row)}
              <bdi>{spellName(row.name)}</bdi>
            </>
          ) : (
            <FileRow
              name={row.name}
              file={files[row.file]}
              viewed={viewed[row.file] === true}
              comments={comments[row.file] ?? 0}
            />
          )}
        </div>
      ))}
    </div>
  );
}

/** What a key does at a row of the tree; undefined when the tree does not handle the key. */
function actOf(key: string, rows: readonly TreeRow[], at: number, closed: ReadonlySet<string>) {
  const row = rows[at];
  const isFolder = row?.file === undefined;
  const isOpen = row !== undefined && isFolder && !closed.has(row.key);
  switch (key) {
    case 'ArrowDown':
      return { to: at + 1 };
    case 'ArrowUp':
      return { to: at - 1 };
    case 'Home':
      return { to: 0 };
    case 'End':
      return { to: rows.length - 1 };
    case 'ArrowRight':
      return isOpen ? { to: at + 1 } : isFolder ? 'open' : undefined;
    case 'ArrowLeft':
      return isOpen ? 'close' : { to: rows.slice(0, at).findLastIndex((r) => r.level < (row?.level ?? 0)) };
    case 'Enter':
    case ' ':
      return 'press';
    default:
      return undefined;
  }
}

function FileRow(props: { name: string; file: DiffFile | undefined; viewed: boolean; comments: number }) {
  const { name, file, viewed, comments } = props;
  return (
    <>
      {viewed ? <Icon name="check" size={12} /> : <Icon name="file" size={12} />}
      <bdi className={styles.treeName}>{spellName(name)}</bdi>
      {viewed && <span className="visually-hidden">viewed</span>}
      {comments > 0 && (
        <span className={styles.badge}>
          {comments}
          <span className="visually-hidden">{comments === 1 ? ' comment' : ' comments'}</span>
        </span>
      )}
      <span className={styles.treeCounts} aria-hidden="true">
        +{file?.additions ?? 0} −{file?.deletions ?? 0}
      </span>
    </>
  );
}
