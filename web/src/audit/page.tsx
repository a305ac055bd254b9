import { useState } from 'react';
import type { AuditEntry } from '@bellhop/client';
import { AdminPage } from '../auth/admin.tsx';
import { useIsAdmin } from '../auth/session.ts';
import { useTitle } from '../inbox/attention.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { actName, actorName, everything, exportURL, subjectName, useAudit, type Filter } from './api.ts';
import { Filters } from './filters.tsx';
import styles from './audit.module.css';
import { Table } from '../ui/table.tsx';
import table from '../ui/table.module.css';

/** Who did what: sign-ins, tokens, users, hosts, and answers to agents. */
export function AuditPage() {
  useTitle('Audit log');
  const [filter, setFilter] = useState<Filter>(everything);
  const query = useAudit(filter, useIsAdmin());
  const entries = query.data?.pages.flatMap((p) => p.entries) ?? [];
  return (
    <AdminPage
      title="Audit log"
      refusal={{
        icon: 'list',
        title: 'Only administrators read the audit log',
        text: 'Ask your administrator who did what.',
      }}
      lead="Who did what: sign-ins, tokens, users, hosts, and who allowed or denied what an agent asked for."
      actions={
        <a className={styles.download} href={exportURL(filter)} download>
          <Icon name="file" size={14} />
          Download
        </a>
      }
    >
      <Filters filter={filter} onChange={setFilter} />
      <QueryStatus query={query} loading="entries" failed="The audit log could not be loaded" />
      {query.data && entries.length === 0 && <Nothing filtered={filter !== everything} />}
      {entries.length > 0 && <Entries entries={entries} />}
      {query.hasNextPage && (
        <Button kind="quiet" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Show older entries
        </Button>
      )}
    </AdminPage>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty icon="search" title="No entry matches">
      <p>Names and addresses match only when they are complete. Try fewer filters.</p>
    </Empty>
  ) : (
    <Empty icon="list" title="No entry yet">
      <p>The next sign-in is the first one.</p>
    </Empty>
  );
}

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <Table columns={['When', 'Act', 'Who', 'On what']}>
      {entries.map((e) => (
        <Entry key={e.no} entry={e} />
      ))}
    </Table>
  );
}

function Entry({ entry: e }: { entry: AuditEntry }) {
  const from = [e.actor.address, e.actor.via, e.actor.tokenId && 'by API token'].filter(Boolean).join(', ');
  return (
    <tr>
      <td data-label="When" className={styles.when}>
        <time dateTime={e.at}>{new Date(e.at).toLocaleString()}</time>
      </td>
      <td data-label="Act">{actName(e.action)}</td>
      <td data-label="Who">
        <span className={styles.cell}>
          <bdi>{actorName(e.actor)}</bdi>
          {from && <bdi className={table.soft}>{from}</bdi>}
        </span>
      </td>
      <td data-label="On what">
        <span className={styles.cell}>
          <bdi>{subjectName(e)}</bdi>
          {e.detail && <bdi className={table.soft}>{detailOf(e.detail)}</bdi>}
        </span>
      </td>
    </tr>
  );
}

const detailOf = (detail: Record<string, string>) =>
  Object.entries(detail)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
