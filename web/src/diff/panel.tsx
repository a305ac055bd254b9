import { useMemo, type CSSProperties, type ReactNode } from 'react';
import type { Diff, Task } from '../app/types.ts';
import { useSetting } from '../settings/choice.ts';
import { ShipBar } from '../ship/bar.tsx';
import { DiscardFiles } from '../ship/discard.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { useMedia } from '../ui/media.ts';
import { Empty, Loading } from '../ui/page.tsx';
import { FileTree } from './filetree.tsx';
import { countsOf } from './counts.ts';
import { fileId, Files } from './files.tsx';
import type { Layout } from './lines.tsx';
import { useDiff } from './query.ts';
import { Edge, useWidth } from './resize.tsx';
import { useReview } from './review.ts';
import { ReviewBar, type SendReview } from './send.tsx';
import { useReviewedFiles, type ReviewedFiles } from './state.ts';
import { Counts } from './view.tsx';
import styles from './diff.module.css';
import treeStyles from './filetree.module.css';

interface Props {
  task: Task;
  chosen: Diff | null;
  /** How often the form of a commit was asked for. */
  commits: number;
  onSend: SendReview;
  onClose: () => void;
}

const none: Diff = { base: '', files: [], patch: '', truncated: false };

/** The changes of a task beside its conversation. React.lazy requires the default export. */
export default function DiffPanel({ task, chosen, commits, onSend, onClose }: Props) {
  const { id: taskId } = task;
  const query = useDiff(taskId, task.lastTurn?.id ?? '', chosen === null);
  const [layout, setLayout] = useSetting<Layout>('diff-layout', ['unified', 'split']);
  const [files, setFiles] = useSetting('diff-files', ['closed', 'open']);
  const [percent, setPercent] = useWidth();
  const diff = chosen ?? query.data?.diff;
  // Without room for both, the conversation and its heading are hidden.
  const alone = useMedia('(max-width: 1100px)');
  const review = useReview(taskId);
  const reviewed = useReviewedFiles(diff ?? none, review);
  return (
    <aside className={styles.panel} style={{ '--share': `${percent}%` } as CSSProperties} aria-label="Changes">
      <Edge percent={percent} label="Width of the changes" onChange={setPercent} />
      <header className={styles.head}>
        {alone && <h1 className="visually-hidden">{task.title}</h1>}
        <h2>Changes</h2>
        {diff && <Totals diff={diff} reviewed={reviewed} />}
        <span className={styles.space} />
        {diff && (
          <IconButton
            label="File tree"
            aria-pressed={files === 'open'}
            icon={<Icon name="list" />}
            onClick={() => setFiles(files === 'open' ? 'closed' : 'open')}
          />
        )}
        <div className={styles.layout} role="group" aria-label="Layout">
          {(['unified', 'split'] as const).map((l) => (
            <button key={l} type="button" aria-pressed={layout === l} onClick={() => setLayout(l)}>
              {l === 'unified' ? 'Unified' : 'Split'}
            </button>
          ))}
        </div>
        {!chosen && (
          <IconButton
            label="Read the changes again"
            icon={<Icon name="retry" />}
            disabled={query.isFetching}
            onClick={() => void query.refetch()}
          />
        )}
        <IconButton label="Close changes" icon={<Icon name="close" />} onClick={onClose} />
      </header>
      {!chosen && <ShipBar task={task} changes={query.data} asked={commits} onSend={onSend} />}
      <Body diff={diff} reviewed={reviewed} showTree={files === 'open'}>
        {!diff && query.isFetching && <Loading what="the changes" />}
        {!diff && query.error && (
          <Failure what="The changes could not be read" error={query.error} retry={() => void query.refetch()} />
        )}
        {!diff && !query.isFetching && !query.error && (
          <Empty icon="diff" title="No changes">
            <p>The agent has not changed any file in its directory yet.</p>
            <Button onClick={() => void query.refetch()}>Look again</Button>
          </Empty>
        )}
        {/* Until the changes are read, no comment's line can be gone. */}
        {(diff || !query.isFetching) && (
          <DiscardFiles task={task} changes={chosen ? undefined : query.data}>
            <Files taskId={taskId} diff={diff ?? none} layout={layout} reviewed={reviewed} />
          </DiscardFiles>
        )}
      </Body>
      <ReviewBar
        taskId={taskId}
        comments={review.comments}
        order={(diff ?? none).files.map((f) => f.path)}
        onSend={onSend}
      />
    </aside>
  );
}

function Totals({ diff, reviewed }: { diff: Diff; reviewed: ReviewedFiles }) {
  const viewed = reviewed.viewed.filter(Boolean).length;
  const { files, additions, deletions } = countsOf(diff);
  return (
    <>
      <Counts additions={additions} deletions={deletions} />
      {viewed > 0 && (
        <span className={styles.progress} role="status">
          {viewed} of {files} viewed
        </span>
      )}
    </>
  );
}

function Body(props: {
  diff: Diff | null | undefined;
  reviewed: ReviewedFiles;
  showTree: boolean;
  children: ReactNode;
}) {
  const { diff, reviewed, showTree, children } = props;
  const comments = useMemo(
    () => reviewed.anchors.map(({ byLine }) => [...byLine.values()].reduce((n, all) => n + all.length, 0)),
    [reviewed.anchors],
  );
  const go = (file: number) => {
    const to = document.getElementById(fileId(file));
    to?.scrollIntoView({ block: 'start' });
    to?.querySelector<HTMLElement>('button')?.focus({ preventScroll: true });
  };
  return (
    <div className={treeStyles.columns}>
      {showTree && diff && <FileTree files={diff.files} viewed={reviewed.viewed} comments={comments} onGo={go} />}
      <div className={styles.body}>{children}</div>
    </div>
  );
}
