import { useState } from 'react';
import type { Host, HostHealth, OfferedSandbox, OfferingHost, SandboxState } from '@bellhop/client';
import { config } from '../app/config.ts';
import { AdminPage } from '../auth/admin.tsx';
import { useTitle } from '../inbox/attention.ts';
import { useOffers } from '../tasks/api.ts';
import { StateBadge, type State } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { AddHost } from './add.tsx';
import { InstallDialog } from './install.tsx';
import { useHosts, useRemoveHost, useUpdateHost } from './api.ts';
import { Table } from '../ui/table.tsx';
import styles from '../ui/table.module.css';

const healths: Record<HostHealth, State> = {
  ok: { tone: 'good', icon: 'check', label: 'Healthy' },
  'low-space': { tone: 'wait', icon: 'warn', label: 'Little room on its disk' },
  full: { tone: 'bad', icon: 'warn', label: 'Disk full' },
  unreachable: { tone: 'bad', icon: 'warn', label: 'Unreachable' },
  unknown: { tone: 'soft', label: 'Not checked yet' },
};

const sandboxes: Record<SandboxState, State> = {
  full: { tone: 'good', icon: 'check', label: 'Complete' },
  partial: { tone: 'wait', icon: 'warn', label: 'With gaps' },
  none: { tone: 'bad', icon: 'warn', label: 'None' },
};

/** The machines on which agents run. */
export function HostsPage() {
  useTitle('Agent hosts');
  const query = useHosts();
  const offers = useOffers();
  const offeringOf = (id: string) => offers.data?.hosts.find((h) => h.hostId === id);
  const [adding, setAdding] = useState(false);
  const remove = useRemoveHost();
  return (
    <AdminPage
      title="Agent hosts"
      refusal={{
        icon: 'host',
        title: 'Only administrators manage hosts',
        text: 'Your tasks are placed on the reachable host with the least to do.',
      }}
      lead="The machines your agents run on. New tasks go to the reachable host with the fewest open turns."
      actions={
        <Button kind="primary" onClick={() => setAdding(true)}>
          <Icon name="plus" size={14} />
          Add host
        </Button>
      }
    >
      <QueryStatus query={query} loading="hosts" failed="The hosts could not be loaded" />
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
        <Table columns={['Name', 'Health', 'Open turns', 'Sandbox of agents', 'Browsers reach it']} actions>
          {query.data.map((h) => (
            <HostRow key={h.id} host={h} offering={offeringOf(h.id)} onRemove={() => remove.mutate(h.id)} />
          ))}
        </Table>
      )}
      {adding && (
        <Dialog title="Add an agent host" onClose={() => setAdding(false)}>
          <AddHost onDone={() => setAdding(false)} />
        </Dialog>
      )}
    </AdminPage>
  );
}

/** What agents of a host are kept from. Basic hosts do not say. */
function Sandbox({ level }: { level: OfferedSandbox | undefined }) {
  if (!level) return <span className={styles.soft}>not known</span>;
  const parts = [
    level.landlock > 0 && `Landlock ${level.landlock}`,
    level.namespaces && 'namespaces',
    level.network && `network ${level.network}`,
    level.ownUser && 'users of their own',
    level.limits.length > 0 && `limits of ${level.limits.join(', ')}`,
  ].filter(Boolean);
  return (
    <>
      <StateBadge state={sandboxes[level.state]} />
      {level.state !== 'none' && <div className={styles.soft}>{parts.join(', ')}</div>}
      {level.open.length > 0 && <div className={styles.soft}>Agents can {level.open.join(', ')}.</div>}
    </>
  );
}

/** The host's version, and the broker's if that is another one. Basic hosts do not say theirs. */
function Version({ version }: { version: string | undefined }) {
  if (!version) return null;
  const isOther = version !== config.version;
  return (
    <div className={styles.soft}>
      Version {version}
      {isOther && ` (the broker has ${config.version})`}
    </div>
  );
}

interface RowProps {
  host: Host;
  /** What it offers; undefined while that is read. */
  offering: OfferingHost | undefined;
  onRemove: () => void;
}

function HostRow({ host, offering, onRemove }: RowProps) {
  const update = useUpdateHost();
  const [agents, setAgents] = useState(false);
  return (
    <tr>
      <td>
        <strong>{host.name}</strong>
        <div className={`${styles.soft} ${styles.mono}`}>{host.url}</div>
        <Version version={offering?.offer?.version} />
      </td>
      <td data-label="Health">
        <StateBadge state={healths[host.health]} />
      </td>
      <td data-label="Open turns">{host.openTurns}</td>
      <td data-label="Sandbox of agents">
        <Sandbox level={offering?.offer?.sandbox} />
      </td>
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
        {update.error && <Failure what="Not changed" error={update.error} />}
      </td>
      <td>
        <Button small aria-label={`Agents of ${host.name}`} onClick={() => setAgents(true)}>
          Agents
        </Button>
        {agents && offering && <InstallDialog hosts={[offering]} onClose={() => setAgents(false)} />}
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
