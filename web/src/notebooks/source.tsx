import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTitle } from '../inbox/attention.ts';
import { CodeBlock } from '../task/markdown/code.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loading, Page } from '../ui/page.tsx';
import { useSource } from './api.ts';
import { Connection } from './connection.tsx';
import { Evidence } from './evidence.tsx';
import { SourceThread } from './thread.tsx';
import { Versions } from './versions.tsx';
import styles from './notebooks.module.css';

/** One source of a notebook: its code, verification, versions and conversation. */
export function SourcePage() {
  const { sourceId } = useParams({ from: '/sources/$sourceId' });
  const query = useSource(sourceId);
  const [tab, setTab] = useState<'code' | 'versions'>('code');
  const source = query.data;
  useTitle(source?.title ?? 'Source');
  if (!source) {
    return (
      <Page title="Source">
        {query.error ? (
          <Failure what="The source could not be loaded" error={query.error} retry={() => void query.refetch()} />
        ) : (
          <Loading what="the source" />
        )}
      </Page>
    );
  }
  const { metadata } = source;
  return (
    <Page title={source.title}>
      <nav aria-label="Where you are" className={styles.crumbs}>
        <Link to="/notebooks">Notebooks</Link> /{' '}
        <Link to="/notebooks/$notebookId" params={{ notebookId: source.notebookId }}>
          {metadata.agentName}'s notebook
        </Link>
      </nav>
      <Connection sessionId={metadata.agentSessionId} status={metadata.agentStatus} agentName={metadata.agentName} />
      <Evidence verification={metadata.verification} />
      {metadata.originalContext && (
        <details className={styles.context}>
          <summary>Why it was saved</summary>
          <p dir="auto">{metadata.originalContext}</p>
        </details>
      )}
      <div className={styles.tabs} role="group" aria-label="Show">
        <button type="button" aria-pressed={tab === 'code'} onClick={() => setTab('code')}>
          Code
        </button>
        <button type="button" aria-pressed={tab === 'versions'} onClick={() => setTab('versions')}>
          Versions ({source.version})
        </button>
      </div>
      {tab === 'code' ? (
        <CodeBlock code={source.content} language={metadata.language} growing={false} />
      ) : (
        <Versions sourceId={sourceId} />
      )}
      <SourceThread source={source} />
    </Page>
  );
}
