import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useTitle } from '../inbox/attention.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Failure } from '../ui/failure.tsx';
import { Empty, Loading, Page } from '../ui/page.tsx';
import { useNotebook, useRemove } from './api.ts';
import { Connection } from './connection.tsx';
import { evidence, UnreadBadge, VerificationBadge } from './evidence.tsx';
import styles from './notebooks.module.css';

export function NotebookPage() {
  const { notebookId } = useParams({ from: '/notebooks/$notebookId' });
  const query = useNotebook(notebookId);
  const remove = useRemove('notebooks');
  const navigate = useNavigate();
  const book = query.data?.notebook;
  useTitle(book?.title ?? 'Notebook');
  if (!book) {
    return (
      <Page title="Notebook">
        {query.error ? (
          <Failure what="The notebook could not be loaded" error={query.error} retry={() => void query.refetch()} />
        ) : (
          <Loading what="the notebook" />
        )}
      </Page>
    );
  }
  const sources = query.data?.sources ?? [];
  return (
    <Page
      title={book.title}
      lead={book.description}
      actions={
        <ConfirmButton
          label="Delete notebook"
          title={`Delete ${book.title}?`}
          action="Delete notebook"
          onConfirm={() => remove.mutate(notebookId, { onSuccess: () => void navigate({ to: '/notebooks' }) })}
          text={<p>Its {sources.length} sources and all conversations about them are deleted for good.</p>}
        />
      }
    >
      <nav aria-label="Where you are" className={styles.crumbs}>
        <Link to="/notebooks">Notebooks</Link>
      </nav>
      <Connection sessionId={book.agentSessionId} status={book.agentStatus} agentName={book.agentName} />
      {remove.error && <Failure what="The notebook was not deleted" error={remove.error} />}
      {sources.length === 0 && (
        <Empty icon="file" title="Nothing saved yet">
          <p>When {book.agentName} saves code, it appears here with the result of its check.</p>
        </Empty>
      )}
      <ul className={styles.books}>
        {sources.map((s) => (
          <li key={s.id}>
            <Link to="/sources/$sourceId" params={{ sourceId: s.id }}>
              <span className={styles.name}>
                <strong dir="auto">{s.title}</strong>
                <small>{evidence(s.metadata.verification)}</small>
              </span>
              <span className={styles.agent}>
                {s.metadata.language} · version {s.version}
              </span>
              <UnreadBadge count={s.unread} />
              <VerificationBadge verification={s.metadata.verification} />
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
