import type { FetchResponse, RemoteState } from '@bellhop/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { readAgain } from '../app/again.ts';
import { client } from '../app/http.ts';
import type { Task } from '../app/types.ts';
import type { SendReview } from '../diff/send.tsx';
import { newId } from '../task/id.ts';
import { spellName } from '../ui/bidi.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import tableStyles from '../ui/table.module.css';
import { toast } from '../ui/toast.tsx';
import { mergePrompt } from './conflict.ts';
import styles from './ship.module.css';

/** Pushes a task's branch; the argument is the commit that the push may remove at the remote, "" for none. */
export function usePush(task: Task) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (replaces: string) => client.push(task.id, replaces),
    onSuccess: (done) => toast(`Pushed ${spellName(done.branch)}.`),
    onSettled: () => readAgain(queries, ['workspace', task.id]),
  });
}

/** Brings new commits of the remote into the task's clone, also while the agent works. */
export function useFetch(task: Task) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => client.fetchRemote(task.id),
    onSettled: () => readAgain(queries, ['workspace', task.id]),
  });
}

const nothingNew = (done: FetchResponse) => done.diverged === '' && done.baseCommit === '';
const showNothingNew = () => toast('The remote has no commits that the branch has not.');

/** Looks for new commits at the remote. The notices show them. */
export function FetchButton({ fetch }: { fetch: ReturnType<typeof useFetch> }) {
  return (
    <IconButton
      label="Look for new commits at the remote"
      icon={<Icon name="retry" size={14} />}
      disabled={fetch.isPending}
      onClick={() => fetch.mutate(undefined, { onSuccess: (done) => nothingNew(done) && showNothingNew() })}
    />
  );
}

interface Props {
  task: Task;
  branch: string;
  remote: RemoteState;
  push: ReturnType<typeof usePush>;
  /** undefined if the host brings no commits into the clone. */
  fetch: ReturnType<typeof useFetch> | undefined;
  onSend: SendReview;
}

/** Why a push or a merge does not succeed, with the ways on: the agent merges, or the push replaces. */
export function PushNotices({ task, branch, remote, push, fetch, onSend }: Props) {
  const [asks, setAsks] = useState(false);
  const merge = useMerge(onSend, branch, remote, fetch);
  const { diverged, base = '' } = remote;
  return (
    <>
      {push.error && <Failure what="Nothing was pushed" error={push.error} />}
      {fetch?.error && <Failure what="The remote was not read" error={fetch.error} />}
      {merge.error !== undefined && <Failure what="The agent was not asked" error={merge.error} />}
      {(diverged || remote.baseMoved) && (
        <div className={styles.row}>
          <span className={styles.state} role="status">
            {diverged
              ? 'The remote has commits in this branch that the workspace has not.'
              : `The branch ${spellName(base)} has new commits at the remote.`}
          </span>
          <Button small disabled={merge.sending} onClick={() => void merge.send()}>
            Ask the agent to merge them
          </Button>
          {diverged && (
            <Button
              small
              kind="quiet"
              disabled={task.openTurn !== null || push.isPending}
              onClick={() => setAsks(true)}
            >
              Replace them …
            </Button>
          )}
        </div>
      )}
      {asks && diverged && (
        <Dialog title="Replace the commits at the remote?" onClose={() => setAsks(false)}>
          <p>
            The branch <bdi>{spellName(branch)}</bdi> ends with the commit <code>{diverged.slice(0, 12)}</code> there.
            This commit, and those before it that the workspace has not, are removed from the branch.
          </p>
          <div className={tableStyles.row}>
            <Button onClick={() => setAsks(false)}>Cancel</Button>
            <Button
              kind="danger"
              onClick={() => {
                setAsks(false);
                push.mutate(diverged);
              }}
            >
              Replace
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/**
 * Has the host bring the commits into the clone, and sends the agent the message that asks for a merge. It goes into
 * the queue while the agent works.
 */
function useMerge(onSend: SendReview, branch: string, remote: RemoteState, fetch: Props['fetch']) {
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const ask = async (known: Parameters<typeof mergePrompt>[1]) => {
    try {
      await onSend({ id: newId(), text: mergePrompt(branch, known, fetch !== undefined) });
      toast('The agent is asked to merge.');
    } catch (reason) {
      setError(reason);
    }
  };
  const send = async () => {
    setSending(true);
    setError(undefined);
    if (!fetch) {
      await ask(remote);
    } else {
      const done = await fetch.mutateAsync().catch(() => null); // the notices show why
      if (done && nothingNew(done)) showNothingNew();
      else if (done) await ask({ base: done.base, diverged: done.diverged, baseMoved: done.baseCommit !== '' });
    }
    setSending(false);
  };
  return { send, sending, error };
}
