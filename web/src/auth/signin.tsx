import { useState, type FormEvent } from 'react';
import { describe } from '../app/http.ts';
import { Button } from '../ui/button.tsx';
import { Bell } from '../ui/icon.tsx';
import { Field } from '../ui/field.tsx';
import type { Credentials } from './session.ts';
import styles from './signin.module.css';

export function SignIn({
  failure,
  pending,
  onSignIn,
}: {
  failure: Error | null;
  pending: boolean;
  onSignIn: (credentials: Credentials) => void;
}) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!pending) onSignIn({ email, password });
  };
  const shown = failure && describe(failure);
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={submit} aria-labelledby="sign-in-title">
        <Bell className={styles.mark} />
        <h1 id="sign-in-title">Sign in to Bellhop</h1>
        <p className={styles.lead}>Start coding agents on your machines, answer them from anywhere.</p>
        {shown && (
          <p className={styles.failure} role="alert">
            {shown.message}. {shown.hint && `${shown.hint}.`}
          </p>
        )}
        <Field label="E-mail">
          {(id) => (
            <input
              id={id}
              type="email"
              autoComplete="username"
              required
              autoFocus
              value={email}
              onChange={(e) => setEmail(e.target.value)}
            />
          )}
        </Field>
        <Field label="Password">
          {(id) => (
            <input
              id={id}
              type="password"
              autoComplete="current-password"
              required
              value={password}
              onChange={(e) => setPassword(e.target.value)}
            />
          )}
        </Field>
        <Button kind="primary" type="submit" disabled={pending}>
          {pending ? 'Signing in …' : 'Sign in'}
        </Button>
        <p className={styles.help}>
          On your own machine, <code>bellhop dev</code> prints a link that signs you in, and keeps the password in{' '}
          <code>dev.json</code>.
        </p>
      </form>
    </main>
  );
}
