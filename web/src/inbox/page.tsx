import { Link } from '@tanstack/react-router';
import { Dock } from '../task/dock/dock.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Page } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Ago } from '../ui/time.tsx';
import { useOpenInteractions } from './api.ts';
import { useTitle } from './attention.ts';
import styles from './inbox.module.css';

/** All open questions of all tasks, the oldest first. */
export function InboxPage() {
  useTitle('Inbox');
  const query = useOpenInteractions();
  const list = query.data ?? [];
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
      <ul className={styles.list}>
        {list.map((i, at) => (
          <li key={i.id}>
            <p className={styles.from}>
              <Link to="/tasks/$taskId" params={{ taskId: i.taskId }} dir="auto">
                {i.taskTitle || 'Untitled task'}
              </Link>
              <Ago at={i.createdAt} />
              {i.expiresAt && <Expiry at={i.expiresAt} />}
            </p>
            {/* Keys answer only the first question, which is the one in view. */}
            <Dock interactions={[i]} keys={at === 0} />
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
