import type { ForgeCredential, ForgeKind, ForgeToken, ForgeTokenList } from '@bellhop/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field, TextField } from '../ui/field.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toast.tsx';
import styles from '../ui/table.module.css';

const path = '/api/forge-tokens';
const kinds: Record<ForgeKind, string> = { github: 'GitHub', gitlab: 'GitLab', gitea: 'Gitea or Forgejo' };
const publicForges: Record<string, ForgeKind> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'gitea.com': 'gitea',
  'codeberg.org': 'gitea',
};

/** The user's own tokens for forges. A token is never shown again. */
export function ForgeTokens() {
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ['forge-tokens'],
    queryFn: async ({ signal }) => (await api<ForgeTokenList>('GET', path, undefined, signal)).tokens,
  });
  const onSettled = () => readAgain(queries, ['forge-tokens']);
  const remove = useMutation({ mutationFn: (id: string) => api('DELETE', `${path}/${id}`), onSettled });
  return (
    <>
      <p>
        Your pushes and pull requests use your token in place of the agent host's. The broker seals it and sends it to a
        host only with such an act of yours.
      </p>
      <QueryStatus query={query} loading="tokens" failed="The tokens could not be loaded" />
      {remove.error && <Failure what="The token was not removed" error={remove.error} />}
      {query.data && query.data.length > 0 && (
        <Table label="Tokens for forges" columns={['Forge', 'Kind', 'Added', 'Last used']} actions>
          {query.data.map((t) => (
            <tr key={t.id}>
              <td className={styles.mono}>{t.forge}</td>
              <td data-label="Kind">{kinds[t.kind]}</td>
              <td className={styles.soft} data-label="Added">
                <Ago at={t.createdAt} />
              </td>
              <td className={styles.soft} data-label="Last used">
                {t.lastUsedAt ? <Ago at={t.lastUsedAt} /> : 'never'}
              </td>
              <td>
                <ConfirmButton
                  label="Remove"
                  title={`Remove your token for ${t.forge}?`}
                  action="Remove token"
                  onConfirm={() => remove.mutate(t.id)}
                  text={
                    <p>
                      Your pushes there use the agent host's token again. The forge still knows yours: revoke it there.
                    </p>
                  }
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <AddForgeToken onAdded={onSettled} />
    </>
  );
}

function AddForgeToken({ onAdded }: { onAdded: () => unknown }) {
  const [forge, setForge] = useState('');
  const [kind, setKind] = useState<ForgeKind>('github');
  const [token, setToken] = useState('');
  const known = publicForges[forge.trim().toLowerCase()];
  const add = useMutation({
    mutationFn: (body: ForgeCredential) => api<ForgeToken>('POST', path, body),
    onSuccess: (added) => {
      toast(`Your token for ${added.forge} is stored.`);
      setForge('');
      setToken('');
    },
    onSettled: onAdded,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({ forge, kind: known ?? kind, token });
  };
  return (
    <form className={styles.form} onSubmit={submit} autoComplete="off">
      <TextField
        label="Forge"
        hint="The host name in the addresses of remotes, such as github.com. A token for it replaces your earlier one."
        value={forge}
        onChange={setForge}
      />
      <Field label="Kind">
        {(id) => (
          <select
            id={id}
            value={known ?? kind}
            disabled={known !== undefined}
            onChange={(e) => setKind(e.target.value as ForgeKind)}
          >
            {Object.entries(kinds).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <TextField
        label="Token"
        type="password"
        autoComplete="new-password"
        hint="It needs the right to write the repository and its pull requests. It is never shown again."
        value={token}
        onChange={setToken}
      />
      {add.error && <Failure what="The token was not stored" error={add.error} />}
      <div className={styles.row}>
        <Button kind="primary" type="submit" disabled={add.isPending || forge.trim() === '' || token.trim() === ''}>
          {add.isPending ? 'Storing …' : 'Store token'}
        </Button>
      </div>
    </form>
  );
}
