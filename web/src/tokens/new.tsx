import { useState, type FormEvent } from 'react';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { allScopes, lifetimes, scopes, useCreateToken, type ApiToken, type Scope } from './api.ts';
import styles from '../ui/table.module.css';

interface Props {
  /** In seconds; 0: tokens need no expiry. */
  maxLifetime: number;
  onDone: (made: ApiToken | null) => void;
}

export function NewToken({ maxLifetime, onDone }: Props) {
  const days = lifetimes(maxLifetime);
  const [name, setName] = useState('');
  const [kind, setKind] = useState<'user' | 'agent'>('user');
  const [agentIdentifier, setAgent] = useState('');
  const [expiresIn, setExpiresIn] = useState(() => (days.find((d) => d.value === '90') ?? days[0])?.value ?? '');
  const [chosen, setChosen] = useState<Scope[]>(['tasks:read', 'tasks:write']);
  const create = useCreateToken();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(
      {
        name,
        kind,
        ...(kind === 'agent' ? { agentIdentifier } : { scopes: chosen }),
        ...(expiresIn && { expiresAt: new Date(Date.now() + Number(expiresIn) * 86_400_000).toISOString() }),
      },
      { onSuccess: onDone },
    );
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <Field label="Name" hint="The program that uses it, so that you can revoke the right token.">
        {(id) => <input id={id} required autoFocus value={name} onChange={(e) => setName(e.target.value)} />}
      </Field>
      <Field label="For">
        {(id) => (
          <select id={id} value={kind} onChange={(e) => setKind(e.target.value === 'agent' ? 'agent' : 'user')}>
            <option value="user">A program that acts for you</option>
            <option value="agent">A coding agent: notebooks only</option>
          </select>
        )}
      </Field>
      {kind === 'agent' && (
        <Field label="Agent identifier" hint="Such as claude-code; the token speaks for this agent only.">
          {(id) => <input id={id} required value={agentIdentifier} onChange={(e) => setAgent(e.target.value)} />}
        </Field>
      )}
      {kind === 'user' && (
        <fieldset className={styles.checks}>
          <legend>May be used for</legend>
          {allScopes.map((scope) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={(e) =>
                  setChosen(allScopes.filter((s) => (s === scope ? e.target.checked : chosen.includes(s))))
                }
              />
              {scopes[scope]}
            </label>
          ))}
        </fieldset>
      )}
      <Field label="Expires">
        {(id) => (
          <select id={id} value={expiresIn} onChange={(e) => setExpiresIn(e.target.value)}>
            {days.map((d) => (
              <option key={d.value} value={d.value}>
                {d.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {create.error && <Failure what="The token was not created" error={create.error} />}
      <div className={styles.row}>
        <Button onClick={() => onDone(null)}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={create.isPending || (kind === 'user' && chosen.length === 0)}>
          Create token
        </Button>
      </div>
    </form>
  );
}
