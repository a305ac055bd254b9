import { useEffect, useState } from 'react';
import type { Task } from '../app/types.ts';
import type { Changes } from '../diff/query.ts';
import type { SendReview } from '../diff/send.tsx';
import { spellName } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { useTaskWorkspace } from '../workspaces/api.ts';
import { CommitForm } from './commit.tsx';
import { pushState } from './conflict.ts';
import { FetchButton, PushNotices, useFetch, usePush } from './push.tsx';
import { RequestForm, RequestLink } from './request.tsx';
import styles from './ship.module.css';

interface Props {
  task: Task;
  /** The present changes; undefined while they are read. */
  changes: Changes | undefined;
  /** How often the form of a commit was asked for elsewhere: a greater number opens it. */
  asked: number;
  onSend: SendReview;
}

/**
 * The branch of a task's workspace, and what can be done with its changes: commit, push, pull request. Hosts that do
 * not commit show nothing.
 */
export function ShipBar({ task, changes, asked, onSend }: Props) {
  const workspace = useTaskWorkspace(task);
  const [form, setForm] = useState<'' | 'commit' | 'request'>('');
  const push = usePush(task);
  const fetch = useFetch(task);
  useEffect(() => {
    if (asked > 0) setForm('commit');
  }, [asked]);
  if (!workspace?.ships?.includes('commit')) return null;
  const { remote, dirty, branch, ships } = workspace;
  const fetches = ships.includes('fetch') ? fetch : undefined;
  const close = () => setForm('');
  const state = [dirty ? 'Uncommitted changes' : 'Everything is committed', remote && pushState(remote)];
  return (
    <section className={styles.bar} aria-label="Shipping">
      <div className={styles.row}>
        <Icon name="branch" size={14} />
        <bdi className={styles.branch}>{spellName(branch) || 'no branch'}</bdi>
        <span className={styles.state}>{state.filter(Boolean).join(' · ')}</span>
        {remote && <RequestLink remote={remote} />}
        {remote && fetches && <FetchButton fetch={fetches} />}
        {form === '' && (
          <>
            <Button small kind={dirty ? 'primary' : undefined} disabled={!dirty} onClick={() => setForm('commit')}>
              Commit
            </Button>
            {remote && (
              <Button
                small
                title={`To ${spellName(remote.address)}`}
                disabled={task.openTurn !== null || push.isPending || (remote.ahead === 0 && !remote.diverged)}
                onClick={() => push.mutate('')}
              >
                {push.isPending ? 'Pushing …' : 'Push'}
              </Button>
            )}
            {remote?.forge && (
              <Button small disabled={!remote.pushed} onClick={() => setForm('request')}>
                {remote.pullRequest ? 'Update pull request' : 'Open pull request'}
              </Button>
            )}
          </>
        )}
      </div>
      {remote && <PushNotices {...{ task, branch, remote, push, onSend }} fetch={fetches} />}
      {form === 'commit' && <CommitForm task={task} changes={changes} onSend={onSend} onClose={close} />}
      {form === 'request' && remote && <RequestForm {...{ task, remote, onSend }} onClose={close} />}
    </section>
  );
}
