import { useEffect } from 'react';
import { useMe } from '../auth/session.ts';
import { notifiedByWorker } from './notify.ts';

/** Stores this browser at the broker again after a sign-in, if its user wants to be notified here. */
export function useNotified() {
  const userId = useMe().data?.id;
  useEffect(() => {
    if (!userId || !notifiedByWorker()) return;
    void import('./push.ts')
      .then(({ keepSubscription }) => keepSubscription(userId))
      // The settings show that this browser is not notified, and why.
      .catch(() => undefined);
  }, [userId]);
}
