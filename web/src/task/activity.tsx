import type { Notice } from '@bellhop/client';
import type { UIMessage } from 'ai';
import { useEffect, useState } from 'react';
import { Icon } from '../ui/icon.tsx';
import { duration } from '../ui/time.tsx';
import { Button } from '../ui/button.tsx';
import type { Connection } from './live/chat.ts';
import { summarise } from './tool/summary.ts';
import styles from './activity.module.css';

/** Returns what the agent is doing, as a short phrase. */
export function verbOf(o: {
  submitted: boolean;
  waiting: boolean;
  /** The host is silent behind a complete text. */
  quiet: boolean;
  connection: Connection['state'];
  message: UIMessage | undefined;
}): string {
  if (o.waiting) return 'Waiting for your answer';
  if (o.quiet) return 'Quiet, the agent may go on';
  const last = o.message?.parts.findLast((p) => p.type !== 'step-start' && !p.type.startsWith('data-'));
  if (!last) {
    if (o.connection === 'connecting') return 'Connecting to the agent host';
    if (o.connection === 'streaming') return 'Starting the agent';
    return o.submitted ? 'Checking in' : 'Catching up';
  }
  if (last.type === 'reasoning') return 'Thinking';
  if (last.type === 'text') return last.state === 'streaming' ? 'Writing' : 'Working';
  if (last.type === 'dynamic-tool') {
    if (last.state === 'input-streaming') return `Preparing ${last.toolName}`;
    if (last.state === 'input-available' || last.state === 'approval-responded')
      return `${summarise(last.toolName, last.input).verb}: ${last.toolName}`;
  }
  return 'Working';
}

interface Props {
  verb: string;
  since: number;
  relay: boolean;
  stopping: boolean;
  onStop: () => void;
}

/** One line above the composer while a turn runs: current activity, elapsed time and a stop button. */
export function Activity({ verb, since, relay, stopping, onStop }: Props) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <div className={styles.activity}>
      <span className={styles.pulse} aria-hidden="true" />
      <span role="status" className={styles.verb}>
        {stopping ? 'Stopping' : verb} …
      </span>
      <span className={styles.time} aria-hidden="true">
        {duration(now - since)}
      </span>
      {relay && (
        <span className={styles.relay} title="This browser cannot reach the agent host itself">
          <Icon name="host" size={12} /> through the broker
        </span>
      )}
      <Button
        small
        kind="quiet"
        className={styles.stop}
        onClick={onStop}
        disabled={stopping}
        aria-keyshortcuts="Escape"
      >
        <Icon name="stop" size={13} />
        Stop <kbd>Esc</kbd>
      </Button>
    </div>
  );
}

/** Shown when a connection has been lost for 3 seconds. */
export function ReconnectBanner({
  lost,
  what,
  where,
  onRetry,
}: {
  lost: boolean;
  what: string;
  where?: string | undefined;
  onRetry?: (() => void) | undefined;
}) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!lost) {
      setLate(false);
      return;
    }
    const timer = setTimeout(() => setLate(true), 3000);
    return () => clearTimeout(timer);
  }, [lost]);
  if (!lost || !late) return null;
  return (
    <p className={styles.banner} role="status">
      <Icon name="retry" size={14} />
      <span>
        {what}
        {where && (
          <>
            {' '}
            (<code>{where}</code>)
          </>
        )}{' '}
        is lost, trying again. Nothing is missed: the agent goes on by itself.
      </span>
      {onRetry && (
        <Button small onClick={onRetry}>
          Retry
        </Button>
      )}
    </p>
  );
}

/** What the host or the agent reported about the turn. The region stays, so that screen readers read additions. */
export function TurnNotices({ notices }: { notices: readonly Notice[] }) {
  return (
    <section className={styles.notices} aria-label="Notices of this turn" aria-live="polite">
      {notices.map((n) => (
        <p key={n.message} data-level={n.level}>
          {n.message}
        </p>
      ))}
    </section>
  );
}
