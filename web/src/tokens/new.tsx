import { useState, type FormEvent } from 'react';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { useCreateToken, type ApiToken } from './api.ts';
import styles from '../ui/table.module.css';

const days = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
] as const;

export function NewToken({ onDone }: { onDone: (made: ApiToken | null) => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<'user' | 'agent'>('user');
  const [agentIdentifier, setAgent] = useState('');
  const [expiresIn, setExpiresIn] = useState('');
  const create = useCreateToken();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(
      {
        name,
        kind,
        ...(kind === 'agent' && { agentIdentifier }),
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
        <Button kind="primary" type="submit" disabled={create.isPending}>
          Create token
        </Button>
      </div>
    </form>
  );
}
