import { Badge, StateBadge, type State } from '../ui/badge.tsx';
import type { AgentSessionStatus, Verification } from '@bellhop/client';
import styles from './notebooks.module.css';

/** The result of a verification in a sentence, as the broker words it for all clients. */
export const evidence = (v: Verification | null): string => v?.summary ?? 'Not checked yet.';

/** How far the code was checked. Code that a parser read without a claim (HTML, CSS, Markdown) gets no badge. */
export function VerificationBadge({ verification }: { verification: Verification | null }) {
  switch (verification?.verdict) {
    case 'verified':
      return (
        <Badge tone="good" icon="check">
          {verification.claim === 'type-checks' ? 'Type-checks' : 'Parses'}
        </Badge>
      );
    case 'failed':
      return (
        <Badge tone="bad" icon="warn">
          Errors found
        </Badge>
      );
    case 'unsupported':
      return verification.tool ? null : <Badge tone="soft">Not checked</Badge>;
    default:
      return <Badge tone="soft">Not checked yet</Badge>;
  }
}

/** How many answers and failures the user has not seen; nothing for none. */
export function UnreadBadge({ count }: { count: number | undefined }) {
  return count ? <Badge tone="busy">{count} new</Badge> : null;
}

const connections: Record<AgentSessionStatus, State> = {
  active: { tone: 'good', icon: 'check', label: 'Connected' },
  expired: { tone: 'wait', icon: 'warn', label: 'Expired' },
  disconnected: { tone: 'soft', icon: 'close', label: 'Disconnected' },
};

/** Whether the agent of a notebook is connected. */
export function ConnectionBadge({ status }: { status: AgentSessionStatus }) {
  return <StateBadge state={connections[status]} />;
}

export function Evidence({ verification }: { verification: Verification | null }) {
  return (
    <div className={styles.evidence}>
      <p>
        <VerificationBadge verification={verification} /> {evidence(verification)}
      </p>
      {verification && verification.diagnostics.length > 0 && (
        <ul>
          {verification.diagnostics.slice(0, 20).map((d, i) => (
            <li key={i}>
              {d.severity === 'warning' && 'Warning '}
              <span>{d.line > 0 ? `${d.line}:${d.column}` : '·'}</span> <bdi>{d.message}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
