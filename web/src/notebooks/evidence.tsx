import { Badge } from '../ui/badge.tsx';
import type { AgentSessionStatus, Verification } from '@bellhop/client';
import styles from './notebooks.module.css';

/** The result of a verification in words: the tool, its findings, and that no code was run. */
export function evidence(v: Verification | null): string {
  if (!v) return 'Not checked yet.';
  const tool = [v.tool, v.toolVersion].filter(Boolean).join(' ');
  const errors = v.diagnostics.filter((d) => d.severity === 'error').length;
  switch (v.verdict) {
    case 'verified':
      return `${tool} accepts this as ${v.language}${v.diagnostics.length > 0 ? `, with ${plural(v.diagnostics.length, 'warning')}` : ''}. The code was read, not run.`;
    case 'failed':
      return `${tool} found ${plural(errors || v.diagnostics.length, 'error')} in this ${v.language}. The code was read, not run.`;
    case 'unsupported':
      return `No checker for ${v.language || 'this language'} is installed, so nothing is known about the code.`;
  }
}

const plural = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`;

export function VerificationBadge({ verification }: { verification: Verification | null }) {
  switch (verification?.verdict) {
    case 'verified':
      return (
        <Badge tone="good" icon="check">
          Verified
        </Badge>
      );
    case 'failed':
      return (
        <Badge tone="bad" icon="warn">
          Errors found
        </Badge>
      );
    case 'unsupported':
      return <Badge tone="soft">Not checkable</Badge>;
    default:
      return <Badge tone="soft">Not checked</Badge>;
  }
}

export function SessionBadge({ status }: { status: AgentSessionStatus }) {
  switch (status) {
    case 'active':
      return (
        <Badge tone="good" icon="check">
          Connected
        </Badge>
      );
    case 'expired':
      return (
        <Badge tone="wait" icon="warn">
          Expired
        </Badge>
      );
    case 'disconnected':
      return (
        <Badge tone="soft" icon="close">
          Disconnected
        </Badge>
      );
  }
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
              <span>{d.line > 0 ? `${d.line}:${d.column}` : '·'}</span> <bdi>{d.message}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
