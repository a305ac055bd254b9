import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { api } from '../app/http.ts';
import { Button } from '../ui/button.tsx';
import { Copy } from '../ui/copy.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField } from '../ui/field.tsx';
import { QRCode } from './qr.tsx';
import styles from './factor.module.css';
import table from '../ui/table.module.css';

interface Enrolment {
  secret: string;
  uri: string;
}

/** Turns the second factor on: the password, then the secret for the app, then a code that the app shows. */
export function Enrol({
  path,
  email,
  onCancel,
  onDone,
}: {
  path: string;
  email: string;
  onCancel: () => void;
  onDone: (recoveryCodes: readonly string[]) => void;
}) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const begin = useMutation({ mutationFn: () => api<Enrolment>('POST', path, { password }) });
  const confirm = useMutation({
    mutationFn: () => api<{ recoveryCodes: string[] }>('POST', `${path}/confirm`, { code }),
    onSuccess: ({ recoveryCodes }) => onDone(recoveryCodes),
  });
  const step = begin.data ? confirm : begin;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!step.isPending) step.mutate();
  };
  return (
    <form className={table.form} onSubmit={submit} aria-label="Turn on the second factor">
      {begin.data ? (
        <>
          <Secret enrolment={begin.data} />
          <TextField
            key="code"
            label="Code that the app shows"
            autoComplete="one-time-code"
            inputMode="numeric"
            autoFocus
            maxLength={10}
            value={code}
            onChange={setCode}
          />
        </>
      ) : (
        <>
          <input type="text" autoComplete="username" value={email} readOnly hidden />
          <TextField
            key="password"
            label="Your password"
            type="password"
            autoComplete="current-password"
            autoFocus
            value={password}
            onChange={setPassword}
          />
        </>
      )}
      {step.error && <Failure what="The second factor is not on yet" error={step.error} />}
      <div className={table.start}>
        <Button type="submit" kind="primary" disabled={step.isPending}>
          {begin.data ? 'Turn on' : 'Continue'}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

function Secret({ enrolment: { secret, uri } }: { enrolment: Enrolment }) {
  return (
    <div className={styles.secret}>
      <QRCode className={styles.qr} text={uri} label="QR code with the secret for your authenticator app" />
      <div>
        <p>Scan this code with an authenticator app, or type the key into it:</p>
        <p className={styles.key}>
          <code>{groups(secret)}</code>
          <Copy text={secret} label="Copy key" />
        </p>
        <p>
          <a href={uri}>Open an app on this device</a>
        </p>
      </div>
    </div>
  );
}

/** Groups of four, which people can read and type. */
const groups = (secret: string) => secret.replace(/(.{4})(?=.)/g, '$1 ');
