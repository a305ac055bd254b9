import { Receiver } from './kit/receiver.ts';
import { expect, test } from './kit/test.ts';

test('a delivery that was refused shows why, and is retried by hand', async ({ bell, world }) => {
  const receiver = await new Receiver().start();
  let broken = true;
  // The receiver rejects permanently. A temporary failure would be retried, possibly just before the click.
  receiver.answer = () => (broken ? [400, { error: 'the receiver is being repaired' }] : [200, {}]);
  const { page } = bell;
  try {
    await page.goto('/deliveries');
    await page.getByRole('button', { name: 'Add webhook' }).click();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByRole('dialog').getByRole('button', { name: 'Add webhook' }).click();
    await expect(page.getByText(/^whsec_/)).toBeVisible();
    const first = await page.getByText(/^whsec_/).textContent();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: /^Replace secret/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replace secret' }).click();
    await expect(page.getByText(/^whsec_/)).not.toHaveText(first ?? '');
    await page.getByRole('button', { name: 'Done' }).click();

    const task = await world.api.newTask('a delivery');
    await world.api.prompt(task.id, 'list');
    const attempts = () => receiver.received.filter((r) => JSON.stringify(r.body).includes(task.id));
    await expect.poll(() => attempts().length).toBeGreaterThan(0);
    await page.reload();
    const log = page
      .getByRole('listitem')
      .filter({ hasText: /turn\.finished.*attempt/s })
      .first();
    await expect(log).toContainText('answered 400');
    await log.getByRole('button', { name: /turn\.finished/ }).click();
    await expect(log).toContainText('the receiver is being repaired');

    broken = false;
    await log.getByRole('button', { name: 'Retry' }).click();
    await expect
      .poll(async () =>
        (await world.api.call<{ deliveries: { state: string }[] }>('GET', '/api/deliveries')).deliveries.map(
          (d) => d.state,
        ),
      )
      .toContain('delivered');
    await page.reload();
    await expect(log).toContainText('Delivered');
    expect(new Set(attempts().map((r) => r.id)).size, 'every attempt has the same id').toBe(1);
  } finally {
    await page.getByRole('button', { name: /^Remove/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove webhook' }).click();
    await expect(page.getByText('None yet.')).toBeVisible();
    await receiver.stop();
  }
});

test('a webhook can have the format of a service', { tag: '@daily' }, async ({ bell, world }) => {
  const receiver = await new Receiver().start();
  const { page } = bell;
  await page.goto('/deliveries');
  await page.getByRole('button', { name: 'Add webhook' }).click();
  await page.getByLabel('Format').selectOption('ntfy');
  await page.getByLabel('URL').fill(receiver.url);
  await page.getByRole('dialog').getByRole('button', { name: 'Add webhook' }).click();
  await expect(page.getByText(/^whsec_/)).toBeVisible();
  await expect(page.getByText('ntfy: ')).toBeVisible();
  const task = await world.api.newTask('A task for a topic');
  await world.api.prompt(task.id, 'list');
  await expect
    .poll(() => receiver.received.map((r) => r.body))
    .toContainEqual(expect.objectContaining({ topic: 'hook', title: 'A task for a topic', priority: 3 }));
  expect(receiver.received[0]?.signature).toMatch(/^v1,/);
  const { webhooks } = await world.api.call<{ webhooks: { id: string }[] }>('GET', '/api/webhooks');
  for (const { id } of webhooks) await world.api.call('DELETE', `/api/webhooks/${id}`);
  await receiver.stop();
});
