import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField } from '../ui/field.tsx';
import table from '../ui/table.module.css';

export interface Proof {
  password: string;
  code: string;
}

/** Asks for password and code before a change of the second factor. */
export function ProofForm<T>({
  name,
  email,
  action,
  failed,
  send,
  onCancel,
  onDone,
}: {
  name: string;
  email: string;
  action: string;
  failed: string;
  send: (proof: Proof) => Promise<T>;
  onCancel: () => void;
  onDone: (result: T) => void;
}) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const change = useMutation({ mutationFn: () => send({ password, code }), onSuccess: onDone });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!change.isPending) change.mutate();
  };
  return (
    <form className={table.form} onSubmit={submit} aria-label={name}>
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        autoFocus
        value={password}
        onChange={setPassword}
      />
      <TextField
        label="Code"
        hint="Six digits of your authenticator app, or a recovery code."
        autoComplete="one-time-code"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={40}
        value={code}
        onChange={setCode}
      />
      {change.error && <Failure what={failed} error={change.error} />}
      <div className={table.start}>
        <Button type="submit" kind="primary" disabled={change.isPending}>
          {action}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
