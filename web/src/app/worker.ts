import { config } from './config.ts';

/** The service worker of the console; rejects where none is registered, such as in development. */
export async function registration(): Promise<ServiceWorkerRegistration> {
  if (!(await navigator.serviceWorker.getRegistration()))
    throw new Error('This browser did not start the service worker of the console');
  return navigator.serviceWorker.ready;
}

/** Registers the service worker. `open` shows a page of the console: a notification was tapped. */
export function startWorker(open: (path: string) => void): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  navigator.serviceWorker.addEventListener('message', (event: MessageEvent<{ type?: string; path?: string }>) => {
    if (event.data.type === 'open' && typeof event.data.path === 'string') open(event.data.path);
  });
  navigator.serviceWorker.register(`${config.base}sw.js`, { scope: config.base }).catch(() => {
    // The console works without it. Private windows of some browsers refuse it.
  });
}
