import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { NotificationEvent, NotificationSubscription } from '@bellhop/client';
import { readAgain } from '../app/again.ts';
import { api } from '../app/http.ts';
import { registration } from '../app/worker.ts';
import { readSetting, writeSetting } from '../settings/store.ts';
import { wantedBy } from './notify.ts';
import { alone } from '../worker/alone.ts';
import type { Notice } from '../worker/notice.ts';

interface Notifications {
  publicKey: string;
  subscriptions: NotificationSubscription[];
}

const key = ['notifications'];
const read = (signal?: AbortSignal) => api<Notifications>('GET', '/api/notifications', undefined, signal);

/** Whether this browser can be notified while the console is closed. On iOS, only an installed console can. */
export const pushSupported = () =>
  'serviceWorker' in navigator && 'PushManager' in window && typeof Notification !== 'undefined';

export function useNotifications() {
  return useQuery({ queryKey: key, queryFn: ({ signal }) => read(signal) });
}

/** Bytes of base64url, as PushManager takes a key. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
}

const sameKey = (a: ArrayBuffer | null | undefined, b: Uint8Array) =>
  a !== null && a !== undefined && a.byteLength === b.length && new Uint8Array(a).every((byte, i) => byte === b[i]);

/** The browser's subscription with the broker's present key; one with another key is of no use any more. */
async function subscribe(publicKey: string): Promise<PushSubscription> {
  const { pushManager } = await registration();
  const wanted = bytesOf(publicKey);
  const former = await pushManager.getSubscription();
  if (former && sameKey(former.options.applicationServerKey, wanted)) return former;
  await former?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: wanted });
}

async function store(subscription: PushSubscription): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  await api('PUT', '/api/notifications', { endpoint, keys });
}

/** Asks for permission and stores this browser at the broker. Throws when either refuses. */
async function turnOn(userId: string): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new Error('Your browser does not let this page notify you; allow it beside the address');
  const { publicKey } = await read();
  await store(await subscribe(publicKey));
  writeSetting(wantedBy, userId);
}

/**
 * Stores this browser again for a user who wanted notifications: they end with each sign-in. Another user who signs in
 * at this browser is asked first.
 */
export async function keepSubscription(userId: string): Promise<void> {
  if (!pushSupported() || readSetting(wantedBy) !== userId || Notification.permission !== 'granted') return;
  const { publicKey, subscriptions } = await read();
  if (!subscriptions.some((s) => s.current)) await store(await subscribe(publicKey));
}

/** Closes the notifications of this browser that `which` selects. */
export async function closeNotifications(which: (notice: Notice) => boolean): Promise<void> {
  if (!pushSupported()) return;
  const worker = await navigator.serviceWorker.getRegistration();
  for (const shown of worker ? await alone(() => worker.getNotifications()) : []) {
    if (which(shown.data as Notice)) shown.close();
  }
}

export function useTurnOn() {
  const client = useQueryClient();
  return useMutation({ mutationFn: turnOn, onSettled: () => readAgain(client, key) });
}

export function useChooseEvents() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, events }: { id: string; events: readonly NotificationEvent[] }) =>
      api('PATCH', `/api/notifications/${id}`, { events }),
    onSettled: () => readAgain(client, key),
  });
}

export function useRemoveBrowser() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ id, current }: NotificationSubscription) => {
      await api('DELETE', `/api/notifications/${id}`);
      if (!current) return;
      writeSetting(wantedBy, null);
      await (await (await registration()).pushManager.getSubscription())?.unsubscribe();
    },
    onSettled: () => readAgain(client, key),
  });
}
