import { expect, test } from './kit/test.ts';

// The browser logs each connection that the proxy cuts.
const broken = /net::ERR_|Failed to fetch/;

const counted = (n: number) => Array.from({ length: n }, (_, i) => `w${i + 1}`);

test('a stream that is cut repeatedly loses no word and doubles none', async ({ bell, far, world, guard }) => {
  guard.allow(broken);
  const task = await world.api.newTask('cuts', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send('drip 240 25');
  for (const seen of [5, 40, 80]) {
    await expect.poll(async () => (await bell.words()).length, { intervals: [20] }).toBeGreaterThan(seen);
    expect(far.proxy.cut(), 'a stream was cut').toBeGreaterThan(0);
  }
  await bell.done();
  const kept = (await world.api.answer(task.id)).match(/w\d+/g);
  expect(kept).toEqual(counted(240));
  await expect.poll(() => bell.words()).toEqual(counted(240));

  await bell.page.reload();
  await expect.poll(() => bell.words()).toEqual(counted(240));
});

test('without a network the page reports it, and catches up afterwards', async ({ bell, far, world, guard }) => {
  guard.allow(broken);
  const task = await world.api.newTask('away', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  // Block every route to the host, including the relay of the broker.
  await bell.page.route('**/api/agent/stream/**', (route) => route.abort());
  await bell.send('drip 300 25');
  await expect.poll(() => bell.words()).toContain('w5');
  far.proxy.refuse = true;
  far.proxy.cut();
  try {
    await expect(bell.page.getByText(/is lost, trying again/)).toBeVisible();
  } finally {
    far.proxy.refuse = false;
    await bell.page.unroute('**/api/agent/stream/**');
  }
  await bell.done();
  await expect.poll(() => bell.words(), { timeout: 20_000 }).toEqual(counted(300));
  await expect(bell.page.getByText(/is lost, trying again/)).toBeHidden();
});
