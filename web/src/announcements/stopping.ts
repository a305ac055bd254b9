import { useEffect, useState, useSyncExternalStore } from 'react';

let stopping = false;
const listeners = new Set<() => void>();

/** Records that the broker reported its stop, or that a feed is open again. */
export function setStopping(next: boolean) {
  stopping = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Whether the broker has stopped and no other one took over within a second. */
export function useStopping(): boolean {
  const now = useSyncExternalStore(subscribe, () => stopping);
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!now) return setLate(false);
    const timer = setTimeout(() => setLate(true), 1000);
    return () => clearTimeout(timer);
  }, [now]);
  return now && late;
}
