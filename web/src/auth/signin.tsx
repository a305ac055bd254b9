import { useState, type FormEvent } from 'react';
import { describe, needsCode } from '../app/http.ts';
import { Button } from '../ui/button.tsx';
import { Bell } from '../ui/icon.tsx';
import { TextField } from '../ui/field.tsx';
import type { Credentials } from './session.ts';
import styles from './signin.module.css';

export function SignIn({
  failure,
  pending,
  onSignIn,
  onBack,
}: {
  failure: Error | null;
  pending: boolean;
  onSignIn: (credentials: Credentials) => void;
  /** Forgets the failure. */
  onBack: () => void;
}) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [asked, setAsked] = useState(false);
  const [sent, setSent] = useState('');
  const [answered, setAnswered] = useState<Error | null>(null);
  if (failure !== answered) {
    setAnswered(failure); // one failure asks once: after "Use another account" it is still there for a moment
    if (needsCode(failure)) setAsked(true);
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (pending) return;
    setSent(code);
    onSignIn(asked ? { email, password, code } : { email, password });
  };
  const back = () => {
    setAsked(false);
    setPassword('');
    setCode('');
    setSent('');
    onBack();
  };
  // The answer to a right password without a code is a question, not a failure.
  const shown = failure && !(needsCode(failure) && !sent) ? describe(failure) : null;
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
        {asked ? (
          <CodeField email={email} code={code} onChange={setCode} />
        ) : (
          <>
            <TextField
              key="email"
              label="E-mail"
              type="email"
              autoComplete="username"
              autoFocus
              value={email}
              onChange={setEmail}
            />
            <TextField
              key="password"
              label="Password"
              type="password"
              autoComplete="current-password"
              value={password}
              onChange={setPassword}
            />
          </>
        )}
        <Button kind="primary" type="submit" disabled={pending}>
          {pending ? 'Signing in …' : 'Sign in'}
        </Button>
        {asked ? (
          <Button kind="quiet" onClick={back}>
            Use another account
          </Button>
        ) : (
          <Help />
        )}
      </form>
    </main>
  );
}

function Help() {
  return (
    <p className={styles.help}>
      On your own machine, <code>bellhop dev</code> prints a link that signs you in, and keeps the password in{' '}
      <code>dev.json</code>.
    </p>
  );
}

const hints = {
  app: 'Six digits, a new one every 30 seconds.',
  recovery: 'Each works once. If none is left, ask your administrator.',
};

/** The second step of a sign-in. A recovery code has letters, so it needs another keyboard on a phone. */
function CodeField({ email, code, onChange }: { email: string; code: string; onChange: (code: string) => void }) {
  const [recovery, setRecovery] = useState(false);
  const swap = () => {
    onChange('');
    setRecovery(!recovery);
  };
  return (
    <>
      <p className={styles.account}>
        The password for <strong>{email}</strong> is right.
      </p>
      <TextField
        key={recovery ? 'recovery' : 'app'}
        label={recovery ? 'Recovery code' : 'Code of your authenticator app'}
        hint={recovery ? hints.recovery : hints.app}
        autoComplete={recovery ? 'off' : 'one-time-code'}
        inputMode={recovery ? 'text' : 'numeric'}
        autoCapitalize="none"
        spellCheck={false}
        maxLength={40}
        autoFocus
        value={code}
        onChange={onChange}
      />
      <Button kind="quiet" onClick={swap}>
        {recovery ? 'Use the authenticator app' : 'Use a recovery code'}
      </Button>
    </>
  );
}
