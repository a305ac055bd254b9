import { memo, useState } from 'react';
import type { DiffFile } from '../app/types.ts';
import { escapeBidi } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { cx } from '../ui/class.ts';
import { useNear } from '../ui/near.ts';
import { pairs, type DiffLine, type Hunk, type PatchFile } from './parse.ts';
import styles from './diff.module.css';

export type Layout = 'unified' | 'split';

/** A file with more changed lines is shown on demand only. */
const firstLines = 600;
/** Height of a line, as in diff.module.css, so that files that are not rendered yet take up their place. */
const lineRem = 1.26;
const widest = 2_000;

const statuses: Record<string, string> = {
  added: 'added',
  modified: 'changed',
  deleted: 'deleted',
  renamed: 'renamed',
  A: 'added',
  M: 'changed',
  D: 'deleted',
  R: 'renamed',
};

export const FileDiff = memo(function FileDiff({
  file,
  patch,
  layout,
}: {
  file: DiffFile;
  patch: PatchFile | undefined;
  layout: Layout;
}) {
  const lines = patch?.hunks.reduce((n, h) => n + h.lines.length, 0) ?? 0;
  const [all, setAll] = useState(false);
  const long = lines > firstLines && !all;
  const [ref, near] = useNear<HTMLDetailsElement>();
  return (
    <details ref={ref} className={styles.file} open={lines <= firstLines * 2}>
      <summary>
        <bdi className={styles.path}>{file.path}</bdi>
        <span className={styles.status}>{statuses[file.status] ?? file.status}</span>
        <Counts additions={file.additions} deletions={file.deletions} />
      </summary>
      {!patch || (patch.hunks.length === 0 && !patch.binary) ? <p className={styles.none}>No lines to show.</p> : null}
      {patch?.binary && <p className={styles.none}>A binary file.</p>}
      {patch && patch.hunks.length > 0 && (
        <div
          className={styles.scroll}
          style={near ? undefined : { height: `${Math.min(lines, firstLines) * lineRem}rem` }}
          tabIndex={0}
          role="region"
          aria-label={`Changes in ${file.path}`}
        >
          {near && <Hunks hunks={long ? firstOf(patch.hunks) : patch.hunks} layout={layout} />}
        </div>
      )}
      {long && (
        <Button small kind="quiet" className={styles.more} onClick={() => setAll(true)}>
          Show all {lines} lines
        </Button>
      )}
    </details>
  );
});

function firstOf(hunks: readonly Hunk[]): Hunk[] {
  const out: Hunk[] = [];
  let left = firstLines;
  for (const h of hunks) {
    if (left <= 0) break;
    out.push({ ...h, lines: h.lines.slice(0, left) });
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

export function Hunks({ hunks, layout }: { hunks: readonly Hunk[]; layout: Layout }) {
  return (
    <table className={cx(styles.table, layout === 'split' && styles.split)}>
      {/* The first row spans all columns and would make them equally wide. */}
      {layout === 'split' && (
        <colgroup>
          <col className={styles.numbers} />
          <col />
          <col className={styles.numbers} />
          <col />
        </colgroup>
      )}
      <tbody>
        {hunks.map((h, i) => [
          <tr key={`h${i}`} className={styles.hunk}>
            <td colSpan={layout === 'split' ? 4 : 3}>{h.header}</td>
          </tr>,
          ...(layout === 'split'
            ? pairs(h.lines).map((p, j) => <SplitRow key={`${i}-${j}`} left={p.left} right={p.right} />)
            : h.lines.map((l, j) => <UnifiedRow key={`${i}-${j}`} line={l} />)),
        ])}
      </tbody>
    </table>
  );
}

const sign = { same: ' ', added: '+', removed: '−' } as const;
const shown = (text: string) => escapeBidi(text.length > widest ? `${text.slice(0, widest)}…` : text);

function UnifiedRow({ line }: { line: DiffLine }) {
  return (
    <tr className={styles[line.kind]}>
      <td className={styles.number}>{line.before}</td>
      <td className={styles.number}>{line.after}</td>
      <td className={styles.text}>
        <span className={styles.sign}>{sign[line.kind]}</span>
        <bdi>{shown(line.text)}</bdi>
      </td>
    </tr>
  );
}

function SplitRow({ left, right }: { left: DiffLine | undefined; right: DiffLine | undefined }) {
  return (
    <tr>
      <td className={cx(styles.number, left && styles[left.kind])}>{left?.before}</td>
      <td className={cx(styles.text, left ? styles[left.kind] : styles.nothing)}>
        {left && (
          <>
            <span className={styles.sign}>{sign[left.kind]}</span>
            <bdi>{shown(left.text)}</bdi>
          </>
        )}
      </td>
      <td className={cx(styles.number, right && styles[right.kind])}>{right?.after}</td>
      <td className={cx(styles.text, right ? styles[right.kind] : styles.nothing)}>
        {right && (
          <>
            <span className={styles.sign}>{sign[right.kind]}</span>
            <bdi>{shown(right.text)}</bdi>
          </>
        )}
      </td>
    </tr>
  );
}
