import { config } from './config.ts';
import { setOffline } from './offline.tsx';

/** The service worker of the console; rejects where none is registered, such as in development. */
export async function registration(): Promise<ServiceWorkerRegistration> {
  if (!(await navigator.serviceWorker.getRegistration()))
    throw new Error('This browser did not start the service worker of the console');
  return navigator.serviceWorker.ready;
}

interface Message {
  type?: string;
  path?: string;
  offline?: boolean;
}

/** Removes what users of this browser have seen, which the service worker keeps for times without the broker. */
export async function forgetSeen(): Promise<void> {
  if ('caches' in window) await caches.delete('bellhop-seen');
}

/** Registers the service worker. `open` shows a page of the console: a notification was tapped. */
export function startWorker(open: (path: string) => void): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  navigator.serviceWorker.addEventListener('message', (event: MessageEvent<Message>) => {
    const { type, path, offline } = event.data;
    if (type === 'open' && typeof path === 'string') open(path);
    if (type === 'offline') setOffline(offline === true);
  });
  navigator.serviceWorker.register(`${config.base}sw.js`, { scope: config.base }).catch(() => {
    // The console works without it. Private windows of some browsers refuse it.
  });
}
