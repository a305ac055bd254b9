import { Fragment, memo, useMemo, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { escapeBidi } from '../ui/bidi.ts';
import { cx } from '../ui/class.ts';
import type { Colours, Piece } from './colours.ts';
import { Comment } from './comment.tsx';
import { pairs, type DiffLine, type Hunk } from './parse.ts';
import { openComment, type LineComment } from './review.ts';
import { markWords, type Range } from './words.ts';
import commentStyles from './comment.module.css';
import styles from './lines.module.css';

export type Layout = 'unified' | 'split';

/** Characters of a line that are shown. */
const maxLineLength = 2_000;

/** Lets the user comment on the lines of a file. */
export interface LineReview {
  taskId: string;
  path: string;
  /** The comments at each line, in the order in which they were written. */
  comments: ReadonlyMap<DiffLine, readonly LineComment[]>;
}

interface Props {
  hunks: readonly Hunk[];
  layout: Layout;
  colours?: Colours | undefined;
  review?: LineReview | undefined;
  /** What stands before the header of a hunk. */
  action?: ((hunk: Hunk) => ReactNode) | undefined;
}

export function Hunks({ hunks, layout, colours, review, action }: Props) {
  const marks = useMemo(() => markWords(hunks), [hunks]);
  const keys = review && lineKeys(hunks, review);
  const text = (line: DiffLine) => <LineText line={line} pieces={colours?.get(line)} marks={marks.get(line)} />;
  const cellProps = { commentable: review !== undefined };
  let first = true;
  const row = (key: string, cells: ReactNode, kind: DiffLine['kind'] | undefined, lines: readonly DiffLine[]) => {
    first = false;
    const comments = review ? lines.flatMap((l) => review.comments.get(l) ?? []) : [];
    return (
      <Fragment key={key}>
        <tr className={kind && styles[kind]}>{cells}</tr>
        {review && comments.length > 0 && (
          <tr className={commentStyles.comments}>
            <td colSpan={layout === 'split' ? 4 : 3}>
              {comments.map((c) => (
                <Comment key={c.id} taskId={review.taskId} comment={c} lines={lines} />
              ))}
            </td>
          </tr>
        )}
      </Fragment>
    );
  };
  return (
    <table className={cx(styles.table, layout === 'split' && styles.split)} {...keys}>
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
            <td colSpan={layout === 'split' ? 4 : 3}>
              {action?.(h)}
              {escapeBidi(h.header)}
            </td>
          </tr>,
          ...(layout === 'split'
            ? pairs(h.lines).map(({ left, right }, j) => {
                const lines = [left, right].filter((l) => l !== undefined);
                const cells = <SplitCells left={left} right={right} text={text} {...cellProps} first={first} />;
                return row(`${i}-${j}`, cells, undefined, lines);
              })
            : h.lines.map((l, j) =>
                row(`${i}-${j}`, <UnifiedCells line={l} text={text} {...cellProps} first={first} />, l.kind, [l]),
              )),
        ])}
      </tbody>
    </table>
  );
}

interface CellProps {
  commentable: boolean;
  /** Whether this is the first line of a file: Tab moves the focus to its number, the arrow keys to the others. */
  first: boolean;
  text: (line: DiffLine) => ReactNode;
}

function UnifiedCells({ line, text, ...more }: CellProps & { line: DiffLine }) {
  return (
    <>
      <LineNumber line={line} side="before" {...more} commentable={more.commentable && line.kind === 'removed'} />
      <LineNumber line={line} side="after" {...more} commentable={more.commentable && line.kind !== 'removed'} />
      <td className={styles.text}>{text(line)}</td>
    </>
  );
}

function SplitCells(props: CellProps & { left: DiffLine | undefined; right: DiffLine | undefined }) {
  const { left, right, text, commentable, first } = props;
  const onLeft = commentable && left?.kind === 'removed';
  return (
    <>
      <LineNumber line={left} side="before" commentable={onLeft} first={first} tint />
      <td className={cx(styles.text, left ? styles[left.kind] : styles.nothing)}>{left && text(left)}</td>
      <LineNumber line={right} side="after" commentable={commentable} first={first && !onLeft} tint />
      <td className={cx(styles.text, right ? styles[right.kind] : styles.nothing)}>{right && text(right)}</td>
    </>
  );
}

function LineNumber(props: {
  line: DiffLine | undefined;
  side: 'before' | 'after';
  commentable: boolean;
  first: boolean;
  tint?: boolean;
}) {
  const { line, side, commentable, first, tint } = props;
  const number = line?.[side];
  return (
    <td className={cx(styles.number, tint && line && styles[line.kind])}>
      {commentable && number !== undefined ? (
        <button
          type="button"
          data-side={side}
          data-line={number}
          tabIndex={first ? 0 : -1}
          aria-label={`Comment on ${side === 'before' ? 'removed ' : ''}line ${number}`}
        >
          {number}
        </button>
      ) : (
        number
      )}
    </td>
  );
}

/** Handles presses on line numbers, and the arrow keys that move the focus between them. */
function lineKeys(hunks: readonly Hunk[], { taskId, path }: LineReview) {
  const comment = (button: HTMLElement) => {
    const side = button.dataset.side === 'before' ? 'before' : 'after';
    const number = Number(button.dataset.line);
    const line = hunks.flatMap((h) => h.lines).find((l) => l[side] === number);
    if (line) openComment(taskId, { path, side, line: number, code: line.text });
  };
  return {
    onClick: ({ target }: MouseEvent) => {
      if (!(target instanceof Element) || target.closest(`.${commentStyles.comments}`)) return;
      const button = target.closest<HTMLElement>('button[data-line]');
      // A number is too small for a thumb: the whole line is the target.
      const touched = matchMedia('(pointer: coarse)').matches && getSelection()?.isCollapsed !== false;
      const nearest = touched ? target.closest('tr')?.querySelectorAll<HTMLElement>('button[data-line]') : undefined;
      const chosen = button ?? (target.closest('td:nth-child(-n + 2)') ? nearest?.[0] : [...(nearest ?? [])].at(-1));
      if (chosen) comment(chosen);
    },
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      const from = event.target;
      if (!(from instanceof HTMLElement) || from.dataset.line === undefined) return;
      const all = [...event.currentTarget.querySelectorAll<HTMLElement>('button[data-line]')];
      const at = all.indexOf(from);
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
      const to = next === undefined ? undefined : all[next];
      if (!to) return;
      event.preventDefault();
      for (const one of all) one.tabIndex = one === to ? 0 : -1;
      to.focus();
    },
  };
}

const sign = { same: ' ', added: '+', removed: '−' } as const;
const signNames = { same: '', added: 'added: ', removed: 'removed: ' } as const;

const LineText = memo(function LineText({
  line,
  pieces,
  marks,
}: {
  line: DiffLine;
  pieces: readonly Piece[] | undefined;
  marks: readonly Range[] | undefined;
}) {
  return (
    <>
      <span className={styles.sign} aria-hidden="true">
        {sign[line.kind]}
      </span>
      {line.kind !== 'same' && <span className="visually-hidden">{signNames[line.kind]}</span>}
      <bdi>{pieces || marks ? renderPieces(line.text, pieces, marks) : displayText(line.text)}</bdi>
      {line.unended && <span className={styles.unended}>no line break at the end of the file</span>}
    </>
  );
});

const displayText = (text: string) =>
  escapeBidi(text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text);

/** A line of code in its colours. */
export const LineCode = memo(function LineCode({
  text,
  pieces,
}: {
  text: string;
  pieces: readonly Piece[] | undefined;
}) {
  return <bdi>{pieces ? renderPieces(text, pieces) : displayText(text)}</bdi>;
});

/** Cuts the pieces of a line where marked words begin and end. */
function renderPieces(text: string, pieces: readonly Piece[] = [{ text, names: '' }], marks: readonly Range[] = []) {
  const out: ReactNode[] = [];
  let at = 0;
  for (const piece of pieces) {
    const end = Math.min(at + piece.text.length, maxLineLength);
    while (at < end) {
      const mark = marks.find(([, to]) => to > at);
      const inside = mark !== undefined && mark[0] <= at;
      const to = Math.min(end, inside ? mark[1] : (mark?.[0] ?? end));
      const names = cx(piece.names, inside && styles.word);
      const part = escapeBidi(text.slice(at, to));
      out.push(
        names ? (
          <span key={at} className={names}>
            {part}
          </span>
        ) : (
          part
        ),
      );
      at = to;
    }
  }
  return text.length > maxLineLength ? [...out, '…'] : out;
}
