import { Markdown } from '../task/markdown/markdown.tsx';
import { Badge } from '../ui/badge.tsx';
import { Ago } from '../ui/time.tsx';
import type { FollowupMessage } from '@bellhop/client';
import { Attachments } from './attachments.tsx';
import { Delivery } from './progress.tsx';
import { VersionDiff } from './versions.tsx';
import styles from './notebooks.module.css';

/** One message of a conversation. isNew marks an answer that the user has not seen before. */
export function MessageView({
  message,
  agentName,
  isNew,
}: {
  message: FollowupMessage;
  agentName: string;
  isNew: boolean;
}) {
  const { metadata } = message;
  const change = metadata.codeModification;
  return (
    <article className={styles.message} data-role={message.role}>
      <header>
        <strong>{message.role === 'user' ? 'You' : agentName}</strong>
        <Ago at={message.timestamp} />
        {message.role === 'user' && <Delivery metadata={metadata} agentName={agentName} />}
        {isNew && <Badge tone="busy">New</Badge>}
      </header>
      {message.role === 'user' ? (
        <p className={styles.asked} dir="auto">
          {message.content}
        </p>
      ) : (
        <Markdown text={message.content} />
      )}
      <Attachments list={metadata.attachments} />
      {change && (
        <details className={styles.change}>
          <summary>
            Made version {change.version}
            {change.description && `: ${change.description}`}
          </summary>
          <VersionDiff diff={change.diff} />
        </details>
      )}
    </article>
  );
}
