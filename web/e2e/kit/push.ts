import type { BrowserContext, CDPSession, Worker } from '@playwright/test';
import type { PushService } from './pushservice.ts';
import type { World } from './world.ts';

/**
 * Chromium without a display has no push service, so the page gets a subscription at that of the test. Everything else
 * is real: the broker encrypts and sends, and what the service has opened is given to the service worker by Chromium.
 */
export async function offerPush(context: BrowserContext, service: PushService): Promise<void> {
  await context.addInitScript((json) => {
    const subscription = {
      endpoint: json.endpoint,
      options: { applicationServerKey: null },
      toJSON: () => json,
      unsubscribe: () => Promise.resolve(true),
    };
    PushManager.prototype.getSubscription = () => Promise.resolve(null);
    PushManager.prototype.subscribe = () => Promise.resolve(subscription as unknown as PushSubscription);
  }, service.subscription);
}

/** The service worker of the console. */
export const workerOf = async (context: BrowserContext): Promise<Worker> =>
  context.serviceWorkers()[0] ?? context.waitForEvent('serviceworker');

export interface Shown {
  title: string;
  body: string;
  tag: string;
  actions: string[];
}

/** The notifications that the browser shows. To list them while one is being shown would drop it. */
export const shown = (worker: Worker) =>
  worker.evaluate(async () => {
    const scope = globalThis as unknown as { registration: ServiceWorkerRegistration };
    const all = await navigator.locks.request('bellhop-notifications', () => scope.registration.getNotifications());
    return all.map((n) => ({
      title: n.title,
      body: n.body,
      tag: n.tag,
      actions: ((n as unknown as { actions?: { action: string }[] }).actions ?? []).map((a) => a.action),
    }));
  }) as Promise<Shown[]>;

/** Taps a notification, as the service worker gets it from Chromium. Returns what the worker tried to open. */
export const tap = (worker: Worker, action: string) =>
  worker.evaluate(async (action) => {
    const scope = globalThis as unknown as {
      registration: ServiceWorkerRegistration;
      clients: { openWindow: (url: string) => Promise<null> };
      dispatchEvent: (e: Event) => boolean;
      NotificationEvent: new (type: string, init: { notification: Notification; action: string }) => Event;
    };
    const opened: string[] = [];
    // Only a real tap lets a worker open a window.
    scope.clients.openWindow = (url) => Promise.resolve(null).finally(() => opened.push(new URL(url).pathname));
    const [notification] = await navigator.locks.request('bellhop-notifications', () =>
      scope.registration.getNotifications(),
    );
    if (!notification) throw new Error('no notification is shown');
    const event = new scope.NotificationEvent('notificationclick', { notification, action });
    let work: Promise<unknown> = Promise.resolve();
    Object.defineProperty(event, 'waitUntil', { value: (p: Promise<unknown>) => (work = p) });
    scope.dispatchEvent(event);
    await work;
    return opened;
  }, action);

export interface Delivery {
  cdp: CDPSession;
  registrationId: string;
  origin: string;
}

/** Connects to the browser's push messages by Chromium's debugging protocol. */
export async function connect(context: BrowserContext, world: World): Promise<Delivery> {
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  const found = new Promise<string>((resolve) =>
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const one = registrations.find((r) => !r.isDeleted && r.scopeURL.startsWith(world.console));
      if (one) resolve(one.registrationId);
    }),
  );
  await page.goto('about:blank');
  await cdp.send('ServiceWorker.enable');
  return { cdp, registrationId: await found, origin: world.console };
}

/** Gives a message to the service worker, as Chromium does when it comes from a push service. */
export const deliver = ({ cdp, registrationId, origin }: Delivery, data: string) =>
  cdp.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
