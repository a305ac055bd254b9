import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { api } from '../app/http.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';
import styles from '../ui/table.module.css';

/** Changes the user's password, which ends their other sessions. */
export function Password({ email }: { email: string }) {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const change = useMutation({
    mutationFn: () => api('POST', '/api/auth/password', { current, password }),
    onSuccess: () => {
      setCurrent('');
      setPassword('');
      toast('Your password is changed. Your other sessions have ended.');
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <form className={styles.form} onSubmit={submit} aria-label="Change your password">
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <TextField
        label="Current password"
        type="password"
        autoComplete="current-password"
        value={current}
        onChange={setCurrent}
      />
      <TextField
        label="New password"
        hint="At least 8 characters. Your other sessions end; API tokens stay."
        type="password"
        autoComplete="new-password"
        minLength={8}
        value={password}
        onChange={setPassword}
      />
      {change.error && <Failure what="The password was not changed" error={change.error} />}
      <div>
        <Button type="submit" disabled={change.isPending}>
          {change.isPending ? 'Changing …' : 'Change password'}
        </Button>
      </div>
    </form>
  );
}
