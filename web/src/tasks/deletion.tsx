import { useMutation, useQuery } from '@tanstack/react-query';
import { BellhopError } from '@bellhop/client';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { client, describe } from '../app/http.ts';
import type { OnlyCopies, Task } from '../app/types.ts';
import { escapeBidi, isolated } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/page.tsx';
import { toast } from '../ui/toast.tsx';
import { useAfterDeletion, useDeleteTask } from './api.ts';
import styles from './deletion.module.css';
import { useHostName } from './model.tsx';
import { byKind } from './onlycopies.ts';

/** A host answers faster in most cases. Then there is no dialog if nothing would be lost. */
const patienceMs = 400;

/** Reads what exists only in a task's workspaces, once: it stays as it was shown until `again` is called. */
function useOnlyCopies(task: Task) {
  return useQuery({
    queryKey: ['only-copies', task.id],
    queryFn: ({ signal }) => client.onlyCopies(task.id, signal),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    refetchInterval: false,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  });
}

/**
 * Deletes a task. It asks if something exists only in the task's workspace, or if that is not known in a moment, and
 * otherwise deletes at once.
 */
export function TaskDeletion({
  task,
  patience = patienceMs,
  onClose,
}: {
  task: Task;
  patience?: number;
  onClose: () => void;
}) {
  const query = useOnlyCopies(task);
  const remove = useDeleteTask();
  const [asks, setAsks] = useState(false);
  const isEmpty = query.data?.items.length === 0;
  useEffect(() => {
    const timer = setTimeout(() => setAsks(true), patience);
    return () => clearTimeout(timer);
  }, [patience]);
  const deleteNow = useEffectEvent(() => {
    remove(task);
    onClose();
  });
  useEffect(() => {
    if (query.isPending || asks) return;
    if (isEmpty) deleteNow();
    else setAsks(true);
  }, [query.isPending, asks, isEmpty]);
  return asks ? <DeletionDialog task={task} query={query} onClose={onClose} /> : null;
}

interface Props {
  task: Task;
  query: ReturnType<typeof useOnlyCopies>;
  onClose: () => void;
}

function DeletionDialog({ task, query, onClose }: Props) {
  const host = useHostName(task);
  const remove = useDeleteTask();
  const confirmation = useConfirmation(task, host, () => void query.refetch(), onClose);
  const { confirmed, setConfirmed, outdated, deletion } = confirmation;
  const list = query.error ? undefined : query.data;
  const isEmpty = list?.items.length === 0;
  const isBusy = deletion.isPending || query.isFetching;
  return (
    <Dialog title="Delete this task?" onClose={confirmation.close}>
      <p className={styles.text}>
        <bdi>{escapeBidi(task.title)}</bdi>
      </p>
      {outdated && (
        <p className={styles.text} role="alert">
          The workspace has changed since you looked, so nothing was deleted. This is what it holds now.
        </p>
      )}
      {deletion.error && !outdated && <Failure what="The task was not deleted" error={deletion.error} />}
      <State task={task} host={host} query={query} />
      {list?.id && !isEmpty && (
        <label className={styles.confirm}>
          <input
            type="checkbox"
            checked={confirmed}
            disabled={isBusy}
            onChange={(e) => setConfirmed(e.target.checked)}
          />
          <span>Delete the workspace, too. What is listed here is lost for good.</span>
        </label>
      )}
      <div className={styles.actions}>
        <Button onClick={confirmation.close}>Cancel</Button>
        {list?.id && !isEmpty && (
          <Button kind="danger" disabled={!confirmed || isBusy} onClick={() => deletion.mutate(list.id)}>
            Delete everything
          </Button>
        )}
        <Button
          data-first
          kind={isEmpty ? 'danger' : 'primary'}
          disabled={deletion.isPending}
          onClick={() => {
            remove(task);
            onClose();
          }}
        >
          {isEmpty ? 'Delete' : 'Delete, keep the workspace'}
        </Button>
      </div>
    </Dialog>
  );
}

/** The confirmation that what is listed may be lost. It ends when the broker says that the list is outdated. */
function useConfirmation(task: Task, host: string, readAgain: () => void, onClose: () => void) {
  const [confirmed, setConfirmed] = useState(false);
  const [outdated, setOutdated] = useState(false);
  const closed = useRef(false);
  const close = () => {
    closed.current = true;
    onClose();
  };
  const after = useAfterDeletion();
  const deletion = useMutation({
    mutationFn: (id: string) => client.deleteTask(task.id, id),
    onMutate: () => setOutdated(false),
    onSuccess: ({ kept, pending }) => {
      after(task, kept);
      const title = isolated(task.title);
      if (pending) {
        const where = host ? `the host ${isolated(host)}` : 'its host';
        toast(`Deleted ${title}. Its workspace is removed when ${where} is back`, undefined, 20_000);
      } else if (!kept) toast(`Deleted ${title} with its workspace`);
      if (!closed.current) close();
    },
    onError: (error) => {
      setConfirmed(false);
      if (closed.current) toast(`${isolated(task.title)} was not deleted: ${describe(error).message}`);
      else if (isOutdated(error)) {
        setOutdated(true);
        readAgain();
      }
    },
  });
  return { confirmed, setConfirmed, outdated, deletion, close };
}

const isOutdated = (error: unknown) => error instanceof BellhopError && error.code === 'conflict';

/** Says what is known of a task's workspace. */
function State({ task, host, query }: { task: Task; host: string; query: Props['query'] }) {
  if (query.isFetching) return <Loading what="what exists only in the workspace" />;
  const again = () => void query.refetch();
  if (query.error) {
    return (
      <>
        <Failure what="It is not known what exists only in the workspace" error={query.error} retry={again} />
        <p className={styles.text}>You can delete the task. The workspace is kept if something exists only there.</p>
      </>
    );
  }
  const list = query.data;
  if (!list?.items.length) return <p className={styles.text}>Nothing exists only in its workspace.</p>;
  if (!list.id) {
    return (
      <>
        <p className={styles.text} role="alert">
          <Host task={task} name={host} start /> does not answer, or is too old to say what exists only in the
          workspace. You can delete the task: the workspace is kept if something exists only there.
        </p>
        <div>
          <Button small onClick={again}>
            Look again
          </Button>
        </div>
      </>
    );
  }
  return (
    <>
      <p className={styles.text}>
        This exists only in its workspace on <Host task={task} name={host} />. The workspace is kept there unless you
        delete it, too.
      </p>
      <LostList list={list} />
    </>
  );
}

function Host({ task, name, start = false }: { task: Task; name: string; start?: boolean }) {
  const the = start ? 'The' : 'the';
  if (!name) return task.hostId ? `${the} task’s host` : `${the} task’s own server`;
  return (
    <>
      {the} host <bdi>{escapeBidi(name)}</bdi>
    </>
  );
}

/** Names what would be lost. It scrolls, also with the keyboard. */
export function LostList({ list }: { list: OnlyCopies }) {
  return (
    <section className={styles.lost} tabIndex={0} aria-label="What exists only there">
      {byKind(list).map(({ kind, title, items }) => (
        <div key={kind}>
          <h3>{title}</h3>
          {items.length > 0 && (
            <ul aria-label={title}>
              {items.map(({ name, detail }, i) => (
                <li key={i}>
                  <bdi className={styles.name}>{name}</bdi>
                  {detail && <span className={styles.detail}>{detail}</span>}
                </li>
              ))}
            </ul>
          )}
        </div>
      ))}
    </section>
  );
}
