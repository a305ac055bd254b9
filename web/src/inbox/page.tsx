import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { Dock } from '../task/dock/dock.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Page } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Ago } from '../ui/time.tsx';
import { useOpenInteractions } from './api.ts';
import { useTitle } from './attention.ts';
import { useSelected } from './selected.ts';
import styles from './inbox.module.css';

/** All open questions of all tasks, the oldest first. */
export function InboxPage() {
  useTitle('Inbox');
  const query = useOpenInteractions();
  const list = query.data ?? [];
  const cards = useRef<HTMLUListElement>(null);
  const selected = useSelected(cards);
  return (
    <Page
      title="Inbox"
      lead="Questions of your agents, the oldest first. They wait here until you answer or their time is over."
    >
      <QueryStatus query={query} loading="what waits for you" failed="The inbox could not be loaded" />
      {query.data && list.length === 0 && (
        <Empty icon="check" title="Nothing waits for you">
          <p>When an agent needs a permission or has a question, it appears here and in the browser's tab.</p>
        </Empty>
      )}
      <ul className={styles.list} ref={cards}>
        {list.map((i) => (
          <li key={i.id} data-card={i.id}>
            <p className={styles.from}>
              <Link to="/tasks/$taskId" params={{ taskId: i.taskId }} dir="auto">
                {i.taskTitle || 'Untitled task'}
              </Link>
              <Ago at={i.createdAt} />
              {i.expiresAt && <Expiry at={i.expiresAt} />}
            </p>
            <Dock interactions={[i]} keys={i.id === selected} />
          </li>
        ))}
      </ul>
    </Page>
  );
}

function Expiry({ at }: { at: string }) {
  const time = new Date(at);
  return (
    <span className={styles.expiry} title={time.toLocaleString()}>
      <Icon name="warn" size={12} /> until {time.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })}
    </span>
  );
}
