/// <reference lib="webworker" />
import { answer } from './answer.ts';
import { alone } from './alone.ts';
import { optionsOf, pathOf, readNotice, tagOf, type Notice } from './notice.ts';

declare const self: ServiceWorkerGlobalScope;

const base = () => new URL('./', self.location.href).pathname;

/** Shows a message, unless the console is in front: there the user sees what it says. */
export async function receive(raw: string): Promise<void> {
  const notice = readNotice(raw);
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (windows.some((w) => w.visibilityState === 'visible' && w.focused)) return;
  await show(notice);
}

const show = (notice: Notice) =>
  alone(async () => {
    const shown = await self.registration.getNotifications({ tag: tagOf(notice) });
    const again = shown.some((n) => (n.data as Notice | null)?.id === notice.id && notice.id !== '');
    await self.registration.showNotification(notice.title, optionsOf(notice, base(), again));
  });

/** Handles a tap on a notification, or on one of its buttons. */
export async function clicked(notification: Notification, action: string): Promise<void> {
  const notice = notification.data as Notice;
  notification.close();
  if (action !== 'allow' && action !== 'deny') return open(notice);
  const failure = await answer(notice, action === 'allow', base());
  if (failure === null) return;
  // The answer did not count, so the question comes back: without buttons, and a tap opens it.
  await show({ ...notice, id: '', answerable: false, text: `Not answered: ${failure}. ${notice.text}` });
}

async function open(notice: Notice): Promise<void> {
  const url = new URL(pathOf(notice), new URL('./', self.location.href)).href;
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const inside = windows.filter((w) => w.url.startsWith(new URL('./', self.location.href).href));
  const there = inside.find((w) => w.url === url) ?? inside[0];
  if (!there) {
    await self.clients.openWindow(url);
    return;
  }
  await there.focus();
  if (there.url !== url) there.postMessage({ type: 'open', path: pathOf(notice) });
}
