import { useState, type FormEvent } from 'react';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { useAddHost } from './api.ts';
import styles from '../ui/table.module.css';

export function AddHost({ onDone }: { onDone: () => void }) {
  const [host, setHost] = useState({ name: '', url: '', password: '' });
  const add = useAddHost();
  const set = (name: keyof typeof host) => (e: { target: { value: string } }) =>
    setHost({ ...host, [name]: e.target.value });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(host, { onSuccess: onDone });
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <Field label="Name" hint="How people recognise it, such as build-01.">
        {(id) => <input id={id} required autoFocus value={host.name} onChange={set('name')} />}
      </Field>
      <Field label="URL" hint="Where this broker reaches it.">
        {(id) => (
          <input
            id={id}
            type="url"
            required
            placeholder="https://build-01.example:7701"
            value={host.url}
            onChange={set('url')}
          />
        )}
      </Field>
      <Field label="Password" hint="The host's own, BELLHOP_HOST_PASSWORD. It is stored sealed.">
        {(id) => (
          <input
            id={id}
            type="password"
            autoComplete="new-password"
            required
            value={host.password}
            onChange={set('password')}
          />
        )}
      </Field>
      {add.error && <Failure what="The host was not added" error={add.error} />}
      <div className={styles.row}>
        <Button onClick={onDone}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={add.isPending}>
          {add.isPending ? 'Adding …' : 'Add host'}
        </Button>
      </div>
    </form>
  );
}
