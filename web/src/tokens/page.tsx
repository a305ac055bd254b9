import { useState } from 'react';
import { useTitle } from '../inbox/attention.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Page } from '../ui/page.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Secret } from '../ui/secret.tsx';
import { Ago } from '../ui/time.tsx';
import { NewToken } from './new.tsx';
import { scopeText, useDeleteToken, useTokens, type ApiToken } from './api.ts';
import { Table } from '../ui/table.tsx';
import styles from '../ui/table.module.css';

/** Tokens for programs: an application's own, or one bound to a coding agent. */
export function TokensPage() {
  useTitle('API tokens');
  const query = useTokens();
  const remove = useDeleteToken();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<ApiToken | null>(null);
  return (
    <Page
      title="API tokens"
      lead="For programs that act for you, and for coding agents that fill your notebooks."
      actions={
        <Button kind="primary" onClick={() => setAdding(true)}>
          <Icon name="plus" size={14} />
          New token
        </Button>
      }
    >
      {made?.token && (
        <Secret what={`The token “${made.name}” is ready.`} value={made.token} onDone={() => setMade(null)} />
      )}
      <QueryStatus query={query} loading="tokens" failed="The tokens could not be loaded" />
      {remove.error && <Failure what="The token was not revoked" error={remove.error} />}
      {query.data?.tokens.length === 0 && (
        <Empty icon="key" title="No API token yet">
          <p>Make one to use the HTTP API, the command line from another machine, or an editor's agent.</p>
        </Empty>
      )}
      {query.data && query.data.tokens.length > 0 && (
        <Table columns={['Name', 'Reaches', 'Created', 'Last used', 'Expires']} actions>
          {query.data.tokens.map((t) => (
            <tr key={t.id}>
              <td>
                <strong>{t.name}</strong>
              </td>
              <td data-label="Reaches">
                {t.kind === 'agent' ? (
                  <>
                    notebooks, as <span className={styles.mono}>{t.agentIdentifier}</span>
                  </>
                ) : (
                  scopeText(t)
                )}
              </td>
              <td className={styles.soft} data-label="Created">
                <Ago at={t.createdAt} />
              </td>
              <td className={styles.soft} data-label="Last used">
                {t.lastUsedAt ? <Ago at={t.lastUsedAt} /> : 'never'}
              </td>
              <td className={styles.soft} data-label="Expires">
                {t.expiresAt ? new Date(t.expiresAt).toLocaleDateString() : 'never'}
              </td>
              <td>
                <ConfirmButton
                  label="Revoke"
                  title={`Revoke ${t.name}?`}
                  action="Revoke token"
                  onConfirm={() => remove.mutate(t.id)}
                  text={<p>Programs that use it are refused from now on.</p>}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {adding && query.data && (
        <Dialog title="New API token" onClose={() => setAdding(false)}>
          <NewToken
            maxLifetime={query.data.maxLifetime}
            onDone={(token) => {
              setAdding(false);
              if (token) setMade(token);
            }}
          />
        </Dialog>
      )}
    </Page>
  );
}
