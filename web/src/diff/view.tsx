import { memo, useEffect, useId, useMemo, useRef, useState } from 'react';
import type { DiffFile } from '../app/types.ts';
import { DiscardButton, DiscardHunkButton } from '../ship/discard.tsx';
import { spellName } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { useNear } from '../ui/near.ts';
import type { Anchors } from './anchor.ts';
import { useColours } from './idle.ts';
import { Hunks, type Layout } from './lines.tsx';
import type { DiffLine, Hunk, PatchFile } from './parse.ts';
import { markViewed } from './review.ts';
import styles from './diff.module.css';

/** A file with more changed lines is shown on demand only. */
const firstLines = 600;
/** Height of a line and of a hunk's header, as in diff.module.css, so that files that are not rendered yet take up
 * their place. */
const lineRem = 1.26;
const hunkRem = 1.56;

const statuses: Record<string, string> = {
  added: 'added',
  modified: 'changed',
  deleted: 'deleted',
  renamed: 'renamed',
  'type-changed': 'type changed',
  A: 'added',
  M: 'changed',
  D: 'deleted',
  R: 'renamed',
};

interface Props {
  id: string;
  taskId: string;
  file: DiffFile;
  patch: PatchFile | undefined;
  layout: Layout;
  viewed: boolean;
  anchors: Anchors;
}

export const FileDiff = memo(function FileDiff({ id, taskId, file, patch, layout, viewed, anchors }: Props) {
  const lines = patch?.hunks.reduce((n, h) => n + h.lines.length, 0) ?? 0;
  const [open, setOpen] = useState(!viewed && lines <= firstLines * 2);
  const [wasViewed, setWasViewed] = useState(viewed);
  if (wasViewed !== viewed) {
    setWasViewed(viewed);
    setOpen(!viewed);
  }
  const [ref, near] = useNear<HTMLDivElement>();
  // Collapsing a file whose header is at the top would otherwise leave the reader somewhere below it.
  const wasOpen = useRef(open);
  useEffect(() => {
    if (wasOpen.current && !open) ref.current?.scrollIntoView({ block: 'nearest' });
    wasOpen.current = open;
  }, [open, ref]);
  const body = useId();
  const name = spellName(file.path);
  const comments = [...anchors.byLine.values()].reduce((n, all) => n + all.length, 0);
  return (
    <div ref={ref} className={styles.file} id={id} data-viewed={viewed || undefined}>
      <div className={styles.fileHead}>
        <h3>
          <button type="button" aria-expanded={open} aria-controls={body} onClick={() => setOpen(!open)}>
            <Icon name={open ? 'down' : 'right'} size={14} />
            <bdi className={styles.path}>
              {file.oldPath !== undefined && file.oldPath !== file.path && `${spellName(file.oldPath)} → `}
              {name}
            </bdi>
          </button>
        </h3>
        <span className={styles.status}>
          {statuses[file.status] ?? spellName(file.status)}
          {comments > 0 && ` · ${comments === 1 ? '1 comment' : `${comments} comments`}`}
        </span>
        <Counts additions={file.additions} deletions={file.deletions} />
        <DiscardButton file={file} />
        {patch && (
          <label className={styles.viewed}>
            <input
              type="checkbox"
              checked={viewed}
              aria-label={`Viewed: ${name}`}
              onChange={(event) => markViewed(taskId, patch, event.target.checked)}
            />
            Viewed
          </label>
        )}
      </div>
      <div id={body} hidden={!open}>
        {open && <FileBody {...{ taskId, file, patch, layout, anchors, near, lines }} />}
      </div>
    </div>
  );
});

interface BodyProps extends Pick<Props, 'taskId' | 'file' | 'patch' | 'layout' | 'anchors'> {
  near: boolean;
  lines: number;
}

function FileBody({ taskId, file, patch, layout, anchors, near, lines }: BodyProps) {
  const [wantsAll, setWantsAll] = useState(false);
  const long = lines > firstLines && !wantsAll && !isBelow(patch, anchors.byLine);
  const hunks = useMemo(() => (long ? firstOf(patch?.hunks ?? []) : (patch?.hunks ?? [])), [patch, long]);
  const colours = useColours(patch, near);
  const review = useMemo(
    () => ({ taskId, path: file.path, comments: anchors.byLine }),
    [taskId, file.path, anchors.byLine],
  );
  const action = (hunk: Hunk) => <DiscardHunkButton file={file} hunk={hunk} />;
  if (patch?.binary) return <p className={styles.none}>A binary file.</p>;
  if (!patch || hunks.length === 0) return <p className={styles.none}>No lines to show.</p>;
  const height = Math.min(lines, firstLines) * lineRem + hunks.length * hunkRem;
  return (
    <>
      <div
        className={styles.scroll}
        style={near ? undefined : { height: `${height}rem` }}
        tabIndex={0}
        role="region"
        aria-label={`Changes in ${spellName(file.path)}`}
      >
        {near && <Hunks {...{ hunks, layout, colours, review }} action={action} />}
      </div>
      {long && (
        <Button small kind="quiet" className={styles.more} onClick={() => setWantsAll(true)}>
          Show all {lines} lines
        </Button>
      )}
    </>
  );
}

/** Whether a comment is at a line that is shown on demand only. */
function isBelow(patch: PatchFile | undefined, byLine: Anchors['byLine']): boolean {
  if (!patch || byLine.size === 0) return false;
  const first = new Set<DiffLine>(firstOf(patch.hunks).flatMap((h) => h.lines));
  return [...byLine.keys()].some((line) => !first.has(line));
}

function firstOf(hunks: readonly Hunk[]): Hunk[] {
  const out: Hunk[] = [];
  let left = firstLines;
  for (const h of hunks) {
    if (left <= 0) break;
    out.push(h.lines.length <= left ? h : { ...h, lines: h.lines.slice(0, left), cut: true });
    left -= h.lines.length;
  }
  return out;
}

export function Counts({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className={styles.counts}>
      <span className={styles.plus}>
        +{additions}
        <span className="visually-hidden"> lines added</span>
      </span>
      <span className={styles.minus}>
        −{deletions}
        <span className="visually-hidden"> lines removed</span>
      </span>
    </span>
  );
}
