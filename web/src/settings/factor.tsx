import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import { Button } from '../ui/button.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toast.tsx';
import { Enrol } from './enrol.tsx';
import { ProofForm } from './proof.tsx';
import { RecoveryCodes } from './recovery.tsx';
import table from '../ui/table.module.css';

interface State {
  /** null: the password alone signs in. */
  enabledAt: string | null;
  /** How many are left. */
  recoveryCodes: number;
}

const path = '/api/auth/second-factor';
const fewCodes = 3;

/** The second factor of the user's sign-in: turns it on and off, and replaces its recovery codes. */
export function SecondFactor({ email }: { email: string }) {
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ['second-factor'],
    queryFn: ({ signal }) => api<State>('GET', path, undefined, signal),
  });
  const [doing, setDoing] = useState<'' | 'on' | 'off' | 'codes'>('');
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const done = () => {
    setDoing('');
    return readAgain(client, ['second-factor']);
  };
  const show = (made: readonly string[]) => {
    setCodes(made);
    void done();
  };
  if (!query.data)
    return <QueryStatus query={query} loading="second factor" failed="The second factor could not be loaded" />;
  const { enabledAt, recoveryCodes } = query.data;
  const cancel = () => setDoing('');
  return (
    <div className={table.form}>
      {enabledAt ? (
        <p>
          On since <Ago at={enabledAt} />. {left(recoveryCodes)}
        </p>
      ) : (
        <p>Off. With it, signing in takes your password and a code of an authenticator app on your phone.</p>
      )}
      {codes && <RecoveryCodes codes={codes} onDone={() => setCodes(null)} />}
      {!codes && doing === '' && (
        <div className={table.start}>
          {enabledAt ? (
            <>
              <Button onClick={() => setDoing('codes')}>New recovery codes</Button>
              <Button kind="danger" onClick={() => setDoing('off')}>
                Turn off
              </Button>
            </>
          ) : (
            <Button onClick={() => setDoing('on')}>Turn on the second factor</Button>
          )}
        </div>
      )}
      {doing === 'on' && <Enrol path={path} email={email} onCancel={cancel} onDone={show} />}
      {doing === 'codes' && (
        <ProofForm
          name="Replace the recovery codes"
          email={email}
          action="Make new codes"
          failed="The codes were not replaced"
          onCancel={cancel}
          send={(proof) => api<{ recoveryCodes: string[] }>('POST', `${path}/recovery-codes`, proof)}
          onDone={(made) => show(made.recoveryCodes)}
        />
      )}
      {doing === 'off' && (
        <ProofForm
          name="Turn off the second factor"
          email={email}
          action="Turn off"
          failed="The second factor is still on"
          onCancel={cancel}
          send={(proof) => api('POST', `${path}/disable`, proof)}
          onDone={() => {
            toast('The second factor is off. Your password alone signs you in.');
            void done();
          }}
        />
      )}
    </div>
  );
}

function left(codes: number): string {
  if (codes === 0) return 'No recovery code is left: make new ones.';
  const many = codes === 1 ? '1 recovery code is left' : `${codes} recovery codes are left`;
  return codes <= fewCodes ? `${many}: make new ones soon.` : `${many}.`;
}
