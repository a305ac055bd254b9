import { useEffect, useRef, type ReactNode } from 'react';
import { Failure } from '../ui/failure.tsx';
import { SignIn } from './signin.tsx';
import { useIsSigningOut, useMe, useSignIn } from './session.ts';
import styles from './signin.module.css';

/**
 * Shows the sign-in page in place of the console while no user is signed in. The address stays: after a session has
 * expired, the user returns to the same page.
 */
export function Gate({ link, children }: { link: string | null; children: ReactNode }) {
  const me = useMe();
  const signIn = useSignIn();
  const leaving = useIsSigningOut();
  const used = useRef(false);
  const { mutate } = signIn;
  useEffect(() => {
    if (!link || used.current) return;
    used.current = true;
    mutate({ link });
  }, [link, mutate]);

  // After a sign-in the page is being loaded again: useSignIn says why.
  if (me.data && !signIn.isSuccess) return children;
  const byLink = signIn.isPending && 'link' in signIn.variables;
  if (me.isPending) return <Waiting>Loading …</Waiting>;
  if (byLink || signIn.isSuccess) return <Waiting>Signing in …</Waiting>;
  // Text in a sign-in form would be lost with this page.
  if (leaving) return <Waiting>Signing out …</Waiting>;
  if (me.error)
    return (
      <main className={styles.page}>
        <Failure what="The console could not start" error={me.error} retry={() => void me.refetch()} />
      </main>
    );
  return (
    <SignIn
      failure={signIn.error}
      pending={signIn.isPending}
      onSignIn={(credentials) => mutate(credentials)}
      onBack={signIn.reset}
    />
  );
}

function Waiting({ children }: { children: ReactNode }) {
  return (
    <div className={styles.waiting} role="status">
      {children}
    </div>
  );
}
