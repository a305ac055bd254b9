import { useSyncExternalStore } from 'react';
import styles from './offline.module.css';

let offline = false;
const listeners = new Set<() => void>();

/** Sets whether the page shows what this browser has seen earlier, because the broker cannot be reached. */
export function setOffline(now: boolean): void {
  if (now === offline) return;
  offline = now;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Says that the console is offline. */
export function OfflineBanner() {
  if (!useSyncExternalStore(subscribe, () => offline)) return null;
  return (
    <p className={styles.banner} role="status">
      Offline: this is what this browser has seen last. Nothing can be sent until the broker can be reached.
    </p>
  );
}
