import { connect, deliver, offerPush, shown, tap, workerOf } from './kit/push.ts';
import { PushService } from './kit/pushservice.ts';
import { expect } from './kit/test.ts';
import { test } from './kit/whole.ts';

test.use({ serviceWorkers: 'allow', permissions: ['notifications'] });

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
  // Chromium knows a notification by its tag, and may close this one for the one before that was tapped.
  await expect(async () => {
    await deliver(delivery, message);
    expect(await shown(worker)).toHaveLength(1);
  }).toPass();
  await tap(worker, 'deny');
  await expect.poll(async () => (await shown(worker))[0]?.body).toContain('Not answered: ');
  expect((await shown(worker))[0]?.actions).toEqual([]);
  expect(await tap(worker, '')).toEqual([`/tasks/${task.id}`]);
  expect(service.received).toHaveLength(1);
  await service.stop();
});

test('notifications that come one upon the other are all shown', async ({ bell, context, world }) => {
  await offerPush(context, await new PushService().start());
  await bell.page.goto('/settings');
  await bell.page.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
  const worker = await workerOf(context);
  const delivery = await connect(context, world);
  await bell.page.close();
  const ids = Array.from({ length: 40 }, (_, i) => `at-once-${i + 10}`);
  for (const taskId of ids)
    await deliver(delivery, JSON.stringify({ id: taskId, event: 'finished', taskId, title: taskId }));
  await expect
    .poll(async () => (await shown(worker)).map((n) => n.title).sort((a, b) => a.localeCompare(b)))
    .toEqual(ids);
});
