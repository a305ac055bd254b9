import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Failure } from '../ui/failure.tsx';
import { useConnection } from './api.ts';
import { ConnectionBadge } from './evidence.tsx';
import type { AgentSessionStatus } from '@bellhop/client';
import styles from './notebooks.module.css';

/** The state of the connection to the notebook's agent, with buttons to change it. */
export function Connection({
  sessionId,
  status,
  agentName,
}: {
  sessionId: string;
  status: AgentSessionStatus;
  agentName: string;
}) {
  const change = useConnection();
  return (
    <div className={styles.connection}>
      <span>{agentName}</span>
      <ConnectionBadge status={status} />
      {status === 'active' ? (
        <ConfirmButton
          label="Disconnect"
          title={`Disconnect ${agentName}?`}
          action="Disconnect"
          onConfirm={() => change.mutate({ id: sessionId, to: 'disconnect' })}
          text={<p>It can neither save nor answer until you renew the connection. What it has saved stays.</p>}
        />
      ) : (
        <Button small disabled={change.isPending} onClick={() => change.mutate({ id: sessionId, to: 'renew' })}>
          Renew connection
        </Button>
      )}
      {change.error && <Failure what="The connection was not changed" error={change.error} />}
    </div>
  );
}
