import { memo, useMemo, type CSSProperties, type ReactNode } from 'react';
import type { UIMessage } from 'ai';
import type { Diff, Interaction, LastTurn } from '../../app/types.ts';
import { countsOf } from '../../diff/counts.ts';
import { endOf } from '../../tasks/status.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { safeUrl } from '../markdown/safe.ts';
import { ToolRow } from '../tool/row.tsx';
import { sizeText } from '../composer/attachments.ts';
import { costOf, readUsage } from '../usage.ts';
import { spellName } from '../../ui/bidi.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { duration } from '../../ui/time.tsx';
import { likelyHeight, likelyHeightOfMessage } from './height.ts';
import type { Item, ToolItem } from './items.ts';
import { isFromTerminal, itemsOfTurn, type RowGroup, type ShownFile, type UserItem } from './merge.ts';
import { QuestionView } from './question.tsx';
import { chunksOf, foldSteps, tookOf, type Steps } from './steps.ts';
import styles from './thread.module.css';

interface Props {
  user: UserItem | undefined;
  group: RowGroup | undefined;
  live: UIMessage | undefined;
  questions: readonly Interaction[] | undefined;
  /** How the turn ended, once it has. */
  ending: LastTurn | undefined;
  running: boolean;
  failure?: ReactNode;
  /** Shows changes; without it they are named only. */
  onDiff?: (diff: Diff) => void;
  /** Whether the reader is not the user who wrote the messages. */
  isShared?: boolean;
  /** Whether the agent follows a script, and no language model answers. */
  isScripted?: boolean;
  /** Sends the user's message again, as a new turn. */
  onRetry?: ((text: string) => void) | undefined;
}

/** A message of the user and the agent's answer. */
export const TurnView = memo(function TurnView(props: Props) {
  const {
    user,
    group,
    live,
    questions,
    ending,
    running,
    failure,
    onDiff,
    onRetry,
    isShared = false,
    isScripted = false,
  } = props;
  const items = useMemo(() => itemsOfTurn(group, live, questions), [group, live, questions]);
  const parts = useMemo(
    () => chunksOf(items).map((chunk, i, { length }) => partOf(chunk, running && i === length - 1)),
    [items, running],
  );
  const answer = running ? '' : items.flatMap((i) => (i.kind === 'text' ? [i.text] : [])).join('\n\n');
  return (
    <article
      className={styles.turn}
      data-running={running || undefined}
      style={sizeOf(parts.reduce((sum, part) => sum + part.height, likelyHeightOfMessage(user)))}
    >
      {user && <UserMessage user={user} isShared={isShared} />}
      {isFromTerminal(group) && <p className={styles.note}>In a terminal</p>}
      {failure}
      {items.length > 0 && (
        <div className={styles.answer}>
          <h2 className="visually-hidden">Answer</h2>
          {isScripted && <p className={styles.note}>Scripted demo agent</p>}
          {parts.map(({ key, rows, height }) => (
            <div key={key} className={styles.part} style={sizeOf(height)} data-parts={parts.length}>
              {rows.map((row) =>
                row.kind === 'steps' ? (
                  <StepsView key={row.key} tools={row.tools} />
                ) : (
                  <ItemView key={row.key} item={row} running={running} onDiff={onDiff} />
                ),
              )}
            </div>
          ))}
          {answer && (
            <div className={styles.after}>
              <Copy text={answer} label="Copy answer" />
            </div>
          )}
        </div>
      )}
      {ending && !running && user?.state !== 'failed' && (
        <Ending
          turn={ending}
          isShared={isShared}
          onRetry={user?.text && onRetry ? () => onRetry(user.text) : undefined}
        />
      )}
    </article>
  );
});

/** Rows that the browser lays out together. */
interface Part {
  key: string;
  rows: readonly (Item | Steps)[];
  height: number;
}

function partOf(items: readonly Item[], running: boolean): Part {
  const rows = foldSteps(items, running);
  // Rows are folded while the turn runs: the key of the first one changes.
  return { key: items[0]?.key ?? '', rows, height: likelyHeight(rows) };
}

/** The size of an element that the browser has not laid out yet. */
const sizeOf = (pixels: number): CSSProperties => ({ containIntrinsicBlockSize: `auto ${pixels}px` });

/** Why a turn ended early, and what it used, if the agent reports that. */
function Ending({ turn, isShared, onRetry }: { turn: LastTurn; isShared: boolean; onRetry: (() => void) | undefined }) {
  const end = endOf(turn.finishReason, turn.reason);
  const used = costOf(readUsage(turn.usage));
  if (!end) return used && <p className={styles.note}>{used}</p>;
  return (
    <p className={styles.ending} data-failed={end.failed || undefined} role="status">
      <Icon name={end.failed ? 'warn' : 'stop'} size={14} />{' '}
      {isShared && turn.reason === 'aborted' ? 'Stopped by the user' : end.label}
      {used && <span className={styles.note}>{used}</span>}
      {end.failed && onRetry && (
        <Button small onClick={onRetry}>
          <Icon name="retry" size={13} />
          Retry
        </Button>
      )}
    </p>
  );
}

function UserMessage({ user, isShared }: { user: UserItem; isShared: boolean }) {
  return (
    <div className={styles.user} data-state={user.state}>
      <h2 className="visually-hidden">{isShared ? 'User' : 'You'}</h2>
      <div className={styles.bubble}>
        {user.files.map((file, i) => (
          <FileView key={i} file={file} />
        ))}
        <p dir="auto">{user.text}</p>
      </div>
      {user.state === 'sending' && <span className={styles.note}>Sending …</span>}
      {user.state === 'failed' && (
        <span className={styles.bad}>
          <Icon name="warn" size={12} /> Not delivered
        </span>
      )}
    </div>
  );
}

function FileView({ file: { name, mediaType, bytes, url } }: { file: ShownFile }) {
  if (url && mediaType.startsWith('image/')) return <img src={url} alt={name} />;
  return (
    <p className={styles.file}>
      <Icon name="clip" size={13} /> <span dir="auto">{spellName(name)}</span>
      {bytes > 0 && <small>{sizeText(bytes)}</small>}
    </p>
  );
}

/** A tool that the stream left running has no known result once its turn has ended. */
function settled(item: ToolItem): ToolItem {
  if (item.state !== 'running' && item.state !== 'preparing' && item.state !== 'waiting') return item;
  return { ...item, state: 'unknown' };
}

function StepsView({ tools }: { tools: readonly ToolItem[] }) {
  const took = tookOf(tools);
  return (
    <details className={styles.steps}>
      <summary>{[`${tools.length} steps`, took >= 1000 && duration(took)].filter(Boolean).join(', ')}</summary>
      {tools.map((tool) => (
        <ToolRow key={tool.key} item={tool} />
      ))}
    </details>
  );
}

function ItemView({ item, running, onDiff }: { item: Item; running: boolean; onDiff: Props['onDiff'] }) {
  switch (item.kind) {
    case 'text':
      return <Markdown text={item.text} growing={item.growing && running} />;
    case 'reasoning':
      return (
        <details className={styles.reasoning} open={item.growing && running}>
          <summary>{item.growing && running ? 'Thinking …' : 'Thoughts'}</summary>
          <Markdown text={item.text} growing={item.growing && running} />
        </details>
      );
    case 'tool':
      return <ToolRow item={running ? item : settled(item)} />;
    case 'diff':
      return <DiffView diff={item.diff} onDiff={onDiff} />;
    case 'question':
      return <QuestionView question={item.question} />;
    case 'image':
      return <img className={styles.image} src={item.url} alt="From the agent" />;
    case 'link': {
      const url = safeUrl(item.url);
      return url ? (
        <a className={styles.source} href={url} target="_blank" rel="noopener noreferrer nofollow">
          {item.title}
        </a>
      ) : (
        <span className={styles.source}>{item.title}</span>
      );
    }
  }
}

/** How many files changed; a button if the changes can be shown. */
function DiffView({ diff, onDiff }: { diff: Diff; onDiff: Props['onDiff'] }) {
  const { files, additions, deletions } = countsOf(diff);
  const text = (
    <>
      <Icon name="diff" /> {files} {files === 1 ? 'file' : 'files'} changed
      <span className={styles.plus}>+{additions}</span>
      <span className={styles.minus}>−{deletions}</span>
    </>
  );
  if (!onDiff) return <p className={styles.note}>{text}</p>;
  return (
    <button type="button" className={styles.diff} onClick={() => onDiff(diff)}>
      {text}
    </button>
  );
}
