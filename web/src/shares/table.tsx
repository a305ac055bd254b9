import type { Share } from '@bellhop/client';
import { Link } from '@tanstack/react-router';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Table } from '../ui/table.tsx';
import styles from '../ui/table.module.css';
import { Ago } from '../ui/time.tsx';
import { useRevokeShare, useShares } from './api.ts';

/** The share links that work, of one task or of all. */
export function ShareTable({ taskId }: { taskId?: string }) {
  const query = useShares(taskId);
  const revoke = useRevokeShare();
  const columns = ['Created', 'Last used', 'Expires'];
  return (
    <>
      <QueryStatus query={query} loading="share links" failed="The share links could not be loaded" />
      {revoke.error && <Failure what="The link was not revoked" error={revoke.error} />}
      {query.data?.length === 0 && <p className={styles.soft}>No link works.</p>}
      {query.data && query.data.length > 0 && (
        <Table label="Share links" columns={taskId ? columns : ['Task', ...columns]} actions>
          {query.data.map((share) => (
            <Row key={share.id} share={share} withTask={!taskId} onRevoke={() => revoke.mutate(share.id)} />
          ))}
        </Table>
      )}
    </>
  );
}

function Row({ share, withTask, onRevoke }: { share: Share; withTask: boolean; onRevoke: () => void }) {
  const created = new Date(share.createdAt).toLocaleString();
  return (
    <tr>
      {withTask && (
        <td>
          <Link to="/tasks/$taskId" params={{ taskId: share.taskId }}>
            <bdi>{share.taskTitle}</bdi>
          </Link>
        </td>
      )}
      <td className={styles.soft} data-label="Created">
        <Ago at={share.createdAt} />
      </td>
      <td className={styles.soft} data-label="Last used">
        {share.lastUsedAt ? <Ago at={share.lastUsedAt} /> : 'never'}
      </td>
      <td className={styles.soft} data-label="Expires">
        {new Date(share.expiresAt).toLocaleDateString()}
      </td>
      <td>
        <Button small kind="danger" aria-label={`Revoke the link of ${created}`} onClick={onRevoke}>
          Revoke
        </Button>
      </td>
    </tr>
  );
}
