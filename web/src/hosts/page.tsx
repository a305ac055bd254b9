import { useState } from 'react';
import type { Host } from '../app/types.ts';
import { useMe } from '../auth/session.ts';
import { useTitle } from '../inbox/attention.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Loading, Page } from '../ui/page.tsx';
import { AddHost } from './add.tsx';
import { useHosts, useRemoveHost, useUpdateHost } from './api.ts';
import styles from '../ui/table.module.css';

/** The machines on which agents run. */
export function HostsPage() {
  useTitle('Agent hosts');
  const admin = useMe().data?.admin;
  const query = useHosts();
  const [adding, setAdding] = useState(false);
  const remove = useRemoveHost();
  if (!admin) {
    return (
      <Page title="Agent hosts">
        <Empty icon="host" title="Only administrators manage hosts">
          <p>Your tasks are placed on the reachable host with the least to do.</p>
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title="Agent hosts"
      lead="The machines your agents run on. New tasks go to the reachable host with the fewest open turns."
      actions={
        <Button kind="primary" onClick={() => setAdding(true)}>
          <Icon name="plus" size={14} />
          Add host
        </Button>
      }
    >
      {query.isPending && <Loading what="hosts" />}
      {query.error && (
        <Failure what="The hosts could not be loaded" error={query.error} retry={() => void query.refetch()} />
      )}
      {remove.error && <Failure what="The host was not removed" error={remove.error} />}
      {query.data?.length === 0 && (
        <Empty icon="host" title="No agent host yet">
          <p>
            Start one with <code>bellhop host</code> on the machine where agents should run, then add its URL and
            password here.
          </p>
          <Button kind="primary" onClick={() => setAdding(true)}>
            Add host
          </Button>
        </Empty>
      )}
      {query.data && query.data.length > 0 && (
        <div className={styles.wrap}>
          <table className={styles.table}>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Health</th>
                <th scope="col">Open turns</th>
                <th scope="col">Browsers reach it</th>
                <th scope="col">
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {query.data.map((h) => (
                <HostRow key={h.id} host={h} onRemove={() => remove.mutate(h.id)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {adding && (
        <Dialog title="Add an agent host" onClose={() => setAdding(false)}>
          <AddHost onDone={() => setAdding(false)} />
        </Dialog>
      )}
    </Page>
  );
}

function HostRow({ host, onRemove }: { host: Host; onRemove: () => void }) {
  const update = useUpdateHost();
  return (
    <tr>
      <td>
        <strong>{host.name}</strong>
        <div className={`${styles.soft} ${styles.mono}`}>{host.url}</div>
      </td>
      <td data-label="Health">
        <Health health={host.health} />
      </td>
      <td data-label="Open turns">{host.openTurns}</td>
      <td data-label="Browsers reach it">
        {host.reach ? (
          <select
            aria-label={`How browsers reach ${host.name}`}
            value={host.reach}
            disabled={update.isPending}
            onChange={(e) => update.mutate({ id: host.id, reach: e.target.value === 'relay' ? 'relay' : 'direct' })}
          >
            <option value="direct">directly</option>
            <option value="relay">through the broker</option>
          </select>
        ) : (
          <span className={styles.soft}>directly, else through the broker</span>
        )}
      </td>
      <td>
        <ConfirmButton
          label="Remove"
          title={`Remove ${host.name}?`}
          action="Remove host"
          onConfirm={onRemove}
          text={
            <p>
              Its tasks stay, but nothing new can be sent to them until the host is added again. The host itself goes on
              running.
            </p>
          }
        />
      </td>
    </tr>
  );
}

function Health({ health }: { health: Host['health'] }) {
  if (health === 'ok')
    return (
      <Badge tone="good" icon="check">
        Healthy
      </Badge>
    );
  if (health === 'low-space')
    return (
      <Badge tone="wait" icon="warn">
        Little room on its disk
      </Badge>
    );
  if (health === 'full')
    return (
      <Badge tone="bad" icon="warn">
        Disk full
      </Badge>
    );
  if (health === 'unreachable')
    return (
      <Badge tone="bad" icon="warn">
        Unreachable
      </Badge>
    );
  return <Badge tone="soft">Not checked yet</Badge>;
}
