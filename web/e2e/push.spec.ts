import type { BrowserContext, CDPSession, Worker } from '@playwright/test';
import { expect, test } from './kit/test.ts';
import { PushService } from './kit/pushservice.ts';
import type { World } from './kit/world.ts';

test.use({ serviceWorkers: 'allow', permissions: ['notifications'] });

/**
 * Chromium without a display has no push service, so the page gets a subscription at that of the test. Everything else
 * is real: the broker encrypts and sends, and what the service has opened is given to the service worker by Chromium.
 */
async function offerPush(context: BrowserContext, service: PushService): Promise<void> {
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

const workerOf = async (context: BrowserContext): Promise<Worker> =>
  context.serviceWorkers()[0] ?? context.waitForEvent('serviceworker');

interface Shown {
  title: string;
  body: string;
  tag: string;
  actions: string[];
}

/** The notifications that the browser shows. */
const shown = (worker: Worker) =>
  worker.evaluate(async () => {
    const scope = globalThis as unknown as { registration: ServiceWorkerRegistration };
    return (await scope.registration.getNotifications()).map((n) => ({
      title: n.title,
      body: n.body,
      tag: n.tag,
      actions: ((n as unknown as { actions?: { action: string }[] }).actions ?? []).map((a) => a.action),
    }));
  }) as Promise<Shown[]>;

/** Taps a notification, as the service worker gets it from Chromium. Returns what the worker tried to open. */
const tap = (worker: Worker, action: string) =>
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
    const [notification] = await scope.registration.getNotifications();
    if (!notification) throw new Error('no notification is shown');
    const event = new scope.NotificationEvent('notificationclick', { notification, action });
    let work: Promise<unknown> = Promise.resolve();
    Object.defineProperty(event, 'waitUntil', { value: (p: Promise<unknown>) => (work = p) });
    scope.dispatchEvent(event);
    await work;
    return opened;
  }, action);

interface Delivery {
  cdp: CDPSession;
  registrationId: string;
  origin: string;
}

/** Connects to the browser's push messages by Chromium's debugging protocol. */
async function connect(context: BrowserContext, world: World): Promise<Delivery> {
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

const deliver = ({ cdp, registrationId, origin }: Delivery, data: string) =>
  cdp.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });

test('a phone is notified while the console is closed, and answers there', async ({ bell, context, world, guard }) => {
  guard.allow(/409|404/);
  const service = await new PushService().start();
  await offerPush(context, service);
  await bell.page.goto('/settings');
  const worker = await workerOf(context);
  await bell.page.getByRole('button', { name: 'Notify this browser' }).click();
  const browsers = bell.page.getByRole('list', { name: 'Browsers that are notified' });
  await expect(browsers.getByRole('listitem')).toContainText('this one');
  const finished = browsers.getByRole('checkbox', { name: 'A turn is over' });
  await finished.click();
  await expect(finished).not.toBeChecked();
  await expect(finished).toBeEnabled(); // the broker has the choice
  const delivery = await connect(context, world);
  await bell.page.close();

  const task = await world.api.newTask('Notes');
  await world.api.prompt(task.id, 'write pushed.txt: by phone');
  await expect.poll(() => service.received.length).toBe(1);
  expect(service.received[0]?.headers).toMatchObject({ urgency: 'high', 'content-encoding': 'aes128gcm' });
  const message = service.received[0]?.plain ?? '';
  await deliver(delivery, message);
  await expect.poll(() => shown(worker)).toHaveLength(1);
  expect((await shown(worker))[0]).toMatchObject({
    tag: `bellhop-${task.id}`,
    title: 'Notes',
    actions: ['allow', 'deny'],
  });
  await tap(worker, 'allow');
  await expect.poll(() => shown(worker)).toHaveLength(0);
  await expect.poll(async () => (await world.api.interactions(task.id)).length).toBe(0);
  await expect.poll(async () => (await world.api.task(task.id)).openTurn).toBeNull();
  expect(JSON.stringify(await world.api.messages(task.id))).toContain('pushed.txt');

  // The same message again, late: the answer does not count, and the notification says so. A tap opens the task.
  await deliver(delivery, message);
  await expect.poll(() => shown(worker)).toHaveLength(1);
  await tap(worker, 'deny');
  await expect.poll(async () => (await shown(worker))[0]?.body).toContain('Not answered: ');
  expect((await shown(worker))[0]?.actions).toEqual([]);
  expect(await tap(worker, '')).toEqual([`/tasks/${task.id}`]);
  expect(service.received).toHaveLength(1);
  await service.stop();
});
