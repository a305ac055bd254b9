import type { Installation } from '@bellhop/client';
import type { OfferedAgent, OfferingHost } from '../app/types.ts';
import { useOffers } from '../tasks/api.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { progressText, useCancelInstallation, useInstall, useInstallations } from './installations.ts';
import styles from './install.module.css';

/** The agents of hosts, for administrators, with their programs. */
export function InstallDialog({ hosts, onClose }: { hosts: readonly OfferingHost[]; onClose: () => void }) {
  return (
    <Dialog title={hosts.length === 1 ? `Agents of ${hosts[0]?.name}` : 'Agents of the hosts'} onClose={onClose}>
      {hosts.map((h) => (
        <AgentsOfHost key={h.hostId} hostId={h.hostId} heading={hosts.length > 1 ? h.name : ''} />
      ))}
    </Dialog>
  );
}

function AgentsOfHost({ hostId, heading }: { hostId: string; heading: string }) {
  const host = useOffers().data?.hosts.find((h) => h.hostId === hostId);
  const query = useInstallations(hostId);
  const agents = (host?.offer?.agents ?? []).filter((a) => !a.scripted);
  return (
    <section className={styles.host} aria-label={`Agents of ${host?.name ?? 'a host'}`}>
      {heading && <h3>{heading}</h3>}
      {host && !host.offer && <p className={styles.soft}>{host.problem ?? 'It does not describe its agents.'}</p>}
      <QueryStatus query={query} loading="installations" failed="The installations could not be read" />
      {query.data && !query.data.allowed && (
        <p className={styles.soft}>
          This host does not let administrators install programs: it was not started with{' '}
          <code>BELLHOP_HOST_ALLOW_INSTALLS=true</code>. Its operator runs <code>bellhop agents install</code> there.
        </p>
      )}
      <ul className={styles.agents}>
        {agents.map((agent) => (
          <AgentRow
            key={agent.id}
            hostId={hostId}
            agent={agent}
            last={query.data?.installations.find((n) => n.program === agent.program)}
          />
        ))}
      </ul>
    </section>
  );
}

interface RowProps {
  hostId: string;
  agent: OfferedAgent;
  /** Of its program. */
  last: Installation | undefined;
}

function AgentRow({ hostId, agent, last }: RowProps) {
  const install = useInstall(hostId);
  const { program } = agent;
  const running = last?.state === 'running';
  return (
    <li>
      <div className={styles.agent}>
        <strong>{agent.title}</strong>
        {agent.installed ? (
          <Badge tone="good" icon="check">
            {['Installed', agent.version].filter(Boolean).join(' ')}
          </Badge>
        ) : (
          <Badge tone="soft">Not installed</Badge>
        )}
        {agent.installed && agent.hasKey === false && (
          <Badge tone="wait" icon="key">
            No key
          </Badge>
        )}
        {program && !agent.installed && !running && (
          <Button
            small
            kind="primary"
            className={styles.act}
            aria-label={`Install ${agent.title}`}
            disabled={install.isPending}
            onClick={() => install.mutate(program)}
          >
            Install
          </Button>
        )}
      </div>
      {!agent.installed && !running && !program && agent.hint && <p className={styles.soft}>{agent.hint}</p>}
      {agent.installed && agent.hasKey === false && agent.keys && (
        <p className={styles.soft}>
          The host has no key of its language model: set <code>{agent.keys[0]}_FILE</code> in its environment, the path
          of a file with the key, and start it again.
        </p>
      )}
      {install.error && <Failure what="It was not installed" error={install.error} />}
      {last && <Progress hostId={hostId} title={agent.title} of={last} />}
    </li>
  );
}

function Progress({ hostId, title, of }: { hostId: string; title: string; of: Installation }) {
  const cancel = useCancelInstallation(hostId);
  const install = useInstall(hostId);
  const running = of.state === 'running';
  const { step, done, total } = of;
  return (
    <div className={styles.progress}>
      {running && (
        <>
          <progress
            aria-label={`Installation of ${title}`}
            {...(step === 'download' && total > 0 && { value: done, max: total })}
          />
          <div className={styles.agent}>
            <span role="status">{progressText(of)}</span>
            <Button
              small
              className={styles.act}
              disabled={cancel.isPending}
              aria-label={`Cancel the installation of ${title}`}
              onClick={() => cancel.mutate(of.program)}
            >
              Cancel
            </Button>
          </div>
        </>
      )}
      {cancel.error && <Failure what="It goes on" error={cancel.error} />}
      {of.state === 'failed' && (
        <Failure
          what={`${title} was not installed`}
          error={new Error([of.error, of.hint].filter(Boolean).join('. '))}
          retry={() => install.mutate(of.program)}
          label="Install again"
        />
      )}
      {of.state === 'cancelled' && <p className={styles.soft}>Cancelled. Nothing was installed.</p>}
      {of.lines.length > 0 && (running || of.state === 'failed') && (
        <pre className={styles.lines} tabIndex={0} aria-label={`Last lines of the installation of ${title}`} role="log">
          {of.lines.join('\n')}
        </pre>
      )}
    </div>
  );
}
