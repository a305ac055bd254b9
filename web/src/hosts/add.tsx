import { useState, type FormEvent } from 'react';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField } from '../ui/field.tsx';
import { useAddHost } from './api.ts';
import styles from '../ui/table.module.css';

export function AddHost({ onDone }: { onDone: () => void }) {
  const [host, setHost] = useState({ name: '', url: '', password: '' });
  const add = useAddHost();
  const set = (name: keyof typeof host) => (value: string) => setHost({ ...host, [name]: value });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(host, { onSuccess: onDone });
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextField
        label="Name"
        hint="How people recognise it, such as build-01."
        autoFocus
        value={host.name}
        onChange={set('name')}
      />
      <TextField
        label="URL"
        hint="Where this broker reaches it."
        type="url"
        placeholder="https://build-01.example:7701"
        value={host.url}
        onChange={set('url')}
      />
      <TextField
        label="Password"
        hint="The host's own, BELLHOP_HOST_PASSWORD. It is stored sealed."
        type="password"
        autoComplete="new-password"
        value={host.password}
        onChange={set('password')}
      />
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
