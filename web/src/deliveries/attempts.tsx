import { LongText } from '../task/tool/longtext.tsx';
import { Badge } from '../ui/badge.tsx';
import type { Delivery } from './api.ts';
import styles from './deliveries.module.css';

export function Attempts({ delivery: d }: { delivery: Delivery }) {
  return (
    <div className={styles.attempts}>
      {d.reason && <p>{d.reason}</p>}
      {d.attempts.length === 0 && <p>Not tried yet.</p>}
      <ol>
        {d.attempts.map((a) => (
          <li key={a.number}>
            <span className={styles.number}>#{a.number}</span>
            {a.status ? (
              <Badge tone={a.status < 300 ? 'good' : 'bad'} icon={a.status < 300 ? 'check' : 'warn'}>
                {a.status}
              </Badge>
            ) : (
              <Badge tone="bad" icon="warn">
                No answer
              </Badge>
            )}
            <time dateTime={a.at}>{new Date(a.at).toLocaleString()}</time>
            <span>{a.durationMs} ms</span>
            {(a.error || a.answer) && (
              <pre tabIndex={0}>
                <LongText text={a.error || a.answer || ''} />
              </pre>
            )}
          </li>
        ))}
      </ol>
      <p className={styles.soft}>
        {d.nextAttemptAt ? `Next attempt ${new Date(d.nextAttemptAt).toLocaleString()}. ` : ''}
        {d.state === 'queued' || d.state === 'held' ? `Tried until ${new Date(d.expiresAt).toLocaleString()}. ` : ''}
        Message <code>{d.messageId}</code>
      </p>
    </div>
  );
}
