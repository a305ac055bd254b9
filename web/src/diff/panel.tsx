import { useMemo, useState } from 'react';
import type { Diff } from '../app/types.ts';
import { readSetting, writeSetting } from '../settings/store.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Loading } from '../ui/page.tsx';
import { parsePatch } from './parse.ts';
import { useDiff } from './query.ts';
import { Counts, FileDiff, type Layout } from './view.tsx';
import styles from './diff.module.css';

/** The changes of a task beside its conversation. React.lazy requires the default export. */
export default function DiffPanel({
  taskId,
  lastTurn,
  chosen,
  onClose,
}: {
  taskId: string;
  lastTurn: string;
  chosen: Diff | null;
  onClose: () => void;
}) {
  const query = useDiff(taskId, lastTurn, chosen === null);
  const [layout, setLayout] = useState<Layout>(() => (readSetting('diff-layout') === 'split' ? 'split' : 'unified'));
  const diff = chosen ?? query.data;
  const choose = (next: Layout) => {
    setLayout(next);
    writeSetting('diff-layout', next);
  };
  return (
    <aside className={styles.panel} aria-label="Changes">
      <header className={styles.head}>
        <h2>Changes</h2>
        {diff && (
          <Counts
            additions={diff.files.reduce((n, f) => n + f.additions, 0)}
            deletions={diff.files.reduce((n, f) => n + f.deletions, 0)}
          />
        )}
        <span className={styles.space} />
        <div className={styles.layout} role="group" aria-label="Layout">
          {(['unified', 'split'] as const).map((l) => (
            <button key={l} type="button" aria-pressed={layout === l} onClick={() => choose(l)}>
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
      <div className={styles.body}>
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
        {diff && <Files diff={diff} layout={layout} />}
      </div>
    </aside>
  );
}

function Files({ diff, layout }: { diff: Diff; layout: Layout }) {
  const patches = useMemo(() => new Map(parsePatch(diff.patch).map((p) => [p.path, p])), [diff.patch]);
  return (
    <>
      {diff.truncated && (
        <p className={styles.cut} role="status">
          <Icon name="warn" size={14} /> There are too many changes to show all of them; the rest was left out.
        </p>
      )}
      {diff.files.map((f) => (
        <FileDiff key={f.path} file={f} patch={patches.get(f.path)} layout={layout} />
      ))}
    </>
  );
}
