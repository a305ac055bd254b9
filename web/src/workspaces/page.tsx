import { Link } from '@tanstack/react-router';
import type { Workspace, WorkspaceHost } from '../app/types.ts';
import { useTitle } from '../inbox/attention.ts';
import { Empty, Page } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Table } from '../ui/table.tsx';
import table from '../ui/table.module.css';
import { Ago } from '../ui/time.tsx';
import { useWorkspaces } from './api.ts';
import { changesOf, Metadata } from './details.tsx';
import styles from './workspaces.module.css';

/** The workspaces that the user's agents created by name. */
export function WorkspacesPage() {
  useTitle('Workspaces');
  const query = useWorkspaces();
  const hosts = query.data?.hosts ?? [];
  const count = hosts.reduce((n, h) => n + h.workspaces.length, 0);
  return (
    <Page
      title="Workspaces"
      lead="An agent creates one with workspace_create: another directory and branch, in which a new task can work."
    >
      <QueryStatus query={query} loading="workspaces" failed="The workspaces could not be loaded" />
      {hosts
        .filter((h) => h.problem)
        .map((h) => (
          <p key={h.hostId} className={table.soft}>
            {h.name}: {h.problem}
          </p>
        ))}
      {query.data && count === 0 && (
        <Empty icon="branch" title="No workspace yet">
          <p>
            Ask the agent of a task to create one, for work beside its own. Every task has a directory of its own
            anyway.
          </p>
        </Empty>
      )}
      {count > 0 && (
        <Table columns={['Name', 'Branch', 'Changes', 'Created', 'Used by']}>
          {hosts.flatMap((h) => h.workspaces.map((w) => <Row key={`${h.hostId}/${w.name}`} host={h} workspace={w} />))}
        </Table>
      )}
    </Page>
  );
}

function Row({ host, workspace: w }: { host: WorkspaceHost; workspace: Workspace }) {
  return (
    <tr>
      <td>
        <strong>{w.name}</strong>
        <div className={table.soft}>{[host.name, w.project].filter(Boolean).join(' · ')}</div>
        <div className={styles.notes}>
          <Metadata metadata={w.metadata} />
        </div>
      </td>
      <td className={table.mono} data-label="Branch">
        {w.branch || 'none'}
      </td>
      <td data-label="Changes">
        {changesOf(w)}
        {w.unpushed > 0 && `, ${w.unpushed} commits only here`}
      </td>
      <td data-label="Created">
        <span>
          <Ago at={w.createdAt} /> by <TaskLink id={w.createdBy} text="a task" />
        </span>
      </td>
      <td data-label="Used by">{w.usedBy ? <TaskLink id={w.usedBy} text="A task" /> : 'nobody'}</td>
    </tr>
  );
}

/** A link to a task, which may be deleted. */
function TaskLink({ id, text }: { id: string; text: string }) {
  if (!id) return text;
  return (
    <Link to="/tasks/$taskId" params={{ taskId: id }}>
      {text}
    </Link>
  );
}
