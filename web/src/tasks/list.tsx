import { lazy, Suspense, useDeferredValue, useState } from 'react';
import type { Task } from '../app/types.ts';
import { useOfflineHosts } from '../hosts/api.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { type TaskState, useHiddenTasks, useTasks } from './api.ts';
import { Group } from './group.tsx';
import { groupsOf, type Held } from './groups.ts';
import { statusOf, type Status } from './status.ts';
import styles from './list.module.css';

const TaskDeletion = lazy(() => import('./deletion.tsx').then((m) => ({ default: m.TaskDeletion })));

/** The kind is what a row shows in that state. A row that changed since the server listed it disappears at once. */
const filters: readonly { value: '' | TaskState; kind?: Status['kind']; label: string }[] = [
  { value: '', label: 'All' },
  { value: 'waiting', kind: 'waiting', label: 'Waiting' },
  { value: 'working', kind: 'busy', label: 'Working' },
  { value: 'failed', kind: 'failed', label: 'Failed' },
];

export function TaskList({ onNew }: { onNew: () => void }) {
  const [q, setQ] = useState('');
  const [archived, setArchived] = useState(false);
  const [filter, setFilter] = useState<'' | TaskState>('');
  const query = useTasks(useDeferredValue(q.trim()), archived, filter);
  const [deleting, setDeleting] = useState<Task | null>(null);
  const [held, setHeld] = useState<Held | null>(null);
  const hidden = useHiddenTasks();
  const offline = useOfflineHosts();

  const all =
    query.data?.pages.flatMap((p) => p.tasks).filter((t) => !hidden.has(t.id) && t.archived === archived) ?? [];
  const listed = all.map((task) => ({ task, status: statusOf(task, offline) }));
  const kind = filters.find((f) => f.value === filter)?.kind;
  const shown = kind ? listed.filter(({ task, status }) => status.kind === kind || task.id === held?.id) : listed;
  const groups = groupsOf(shown, new Date(), held);
  return (
    <section className={styles.section} aria-label="Tasks">
      <div className={styles.tools}>
        <div className={styles.search}>
          <Icon name="search" size={14} />
          <input
            type="search"
            data-search
            aria-label="Search tasks"
            placeholder="Search tasks"
            value={q}
            onChange={(e) => setQ(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === 'Escape') {
                setQ('');
                e.currentTarget.blur();
              }
            }}
          />
          <kbd aria-hidden="true">/</kbd>
        </div>
        <IconButton
          label={archived ? 'Show active tasks' : 'Show archived tasks'}
          aria-pressed={archived}
          icon={<Icon name="archive" />}
          onClick={() => setArchived(!archived)}
        />
      </div>
      <div className={styles.filters} role="group" aria-label="Filter by state">
        {filters.map((f) => (
          <button key={f.label} type="button" aria-pressed={filter === f.value} onClick={() => setFilter(f.value)}>
            {f.label}
          </button>
        ))}
      </div>
      <div className={styles.scroll}>
        {query.isPending && (
          <p className={styles.note} role="status">
            Loading tasks …
          </p>
        )}
        {query.error && (
          <Failure what="Tasks could not be loaded" error={query.error} retry={() => void query.refetch()} />
        )}
        {query.data && shown.length === 0 && (
          <Nothing q={q} archived={archived} filtered={filter !== ''} onNew={onNew} />
        )}
        {groups.map((group, i) => (
          <Group
            key={group.label}
            group={group}
            more={query.hasNextPage && i === groups.length - 1}
            onDelete={setDeleting}
            onHold={setHeld}
          />
        ))}
        {query.hasNextPage && (
          <Button
            kind="quiet"
            small
            className={styles.more}
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {query.isFetchingNextPage ? 'Loading …' : 'Show older tasks'}
          </Button>
        )}
      </div>
      {deleting && (
        <Suspense>
          <TaskDeletion key={deleting.id} task={deleting} onClose={() => setDeleting(null)} />
        </Suspense>
      )}
    </section>
  );
}

function Nothing({
  q,
  archived,
  filtered,
  onNew,
}: {
  q: string;
  archived: boolean;
  filtered: boolean;
  onNew: () => void;
}) {
  if (q) return <p className={styles.note}>No task matches “{q}”.</p>;
  if (filtered) return <p className={styles.note}>No task is in this state.</p>;
  if (archived) return <p className={styles.note}>Nothing is archived.</p>;
  return (
    <p className={styles.note}>
      No tasks yet.{' '}
      <button type="button" onClick={onNew}>
        Start your first one
      </button>
    </p>
  );
}
