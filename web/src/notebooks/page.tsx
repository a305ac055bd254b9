import { Link } from '@tanstack/react-router';
import { useTitle } from '../inbox/attention.ts';
import { Empty, Page } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Ago } from '../ui/time.tsx';
import { useNotebooks } from './api.ts';
import { ConnectionBadge, UnreadBadge } from './evidence.tsx';
import { AgentIcon } from './icon.tsx';
import styles from './notebooks.module.css';

/** The code that coding agents have saved for the user. */
export function NotebooksPage() {
  useTitle('Notebooks');
  const query = useNotebooks();
  return (
    <Page title="Notebooks" lead="Code that the agents in your editors saved for you, checked and open to questions.">
      <QueryStatus query={query} loading="notebooks" failed="The notebooks could not be loaded" />
      {query.data?.length === 0 && (
        <Empty icon="book" title="No notebook yet">
          <p>
            Make an <Link to="/tokens">API token for a coding agent</Link>, then add <code>bellhop mcp</code> to your
            editor. The agent's first save makes a notebook here.
          </p>
        </Empty>
      )}
      <ul className={styles.books}>
        {query.data?.map((n) => (
          <li key={n.id}>
            <Link to="/notebooks/$notebookId" params={{ notebookId: n.id }}>
              <AgentIcon notebook={n} />
              <span className={styles.name}>
                <strong dir="auto">{n.title}</strong>
                {n.description && <small dir="auto">{n.description}</small>}
              </span>
              <span className={styles.agent}>{n.agentName}</span>
              <UnreadBadge count={n.unread} />
              <ConnectionBadge status={n.agentStatus} />
              <Ago at={n.createdAt} />
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
