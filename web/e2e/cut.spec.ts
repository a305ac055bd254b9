import { expect, test } from './kit/far.ts';

// The browser logs each connection that the proxy cuts.
const broken = /net::ERR_|Failed to fetch/;

const counted = (n: number) => Array.from({ length: n }, (_, i) => `w${i + 1}`);

test('a stream that is cut repeatedly loses no word and doubles none', { tag: '@daily' }, async ({
  bell,
  far,
  world,
  guard,
}) => {
  guard.allow(broken);
  const task = await world.api.newTask('cuts', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  far.proxy.cutAfter = ['w5 ', 'w40 ', 'w80 '];
  await bell.send('drip 240 25');
  await bell.done();
  expect(far.proxy.cutAfter, 'words after which the stream was not cut').toEqual([]);
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
  await bell.send('held 300');
  await expect.poll(() => bell.words()).toContain('w149');
  far.proxy.refuse = true;
  far.proxy.cut();
  try {
    await expect(bell.page.getByText(/is lost, trying again/)).toBeVisible();
  } finally {
    far.proxy.refuse = false;
    await bell.page.unroute('**/api/agent/stream/**');
  }
  far.release(task.id);
  await bell.done();
  await expect.poll(() => bell.words()).toEqual(counted(300));
  await expect(bell.page.getByText(/is lost, trying again/)).toBeHidden();
});

test('an EventSource of a page reads a turn once and stops after its end', async ({ bell, far, world, guard }) => {
  guard.allow(/EventSource's response has a MIME type/);
  const task = await world.api.newTask('native', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send('drip 3 5');
  await bell.done();
  const { streamUrl, streamToken } = await world.api.call<{ streamUrl: string; streamToken: string }>(
    'POST',
    '/api/agent/attach',
    { taskId: task.id },
  );
  const finishes = await bell.page.evaluate(
    (url) =>
      new Promise<number>((resolve) => {
        const source = new EventSource(url);
        let count = 0;
        source.addEventListener('message', (e) => (count += e.data.includes('"type":"finish"') ? 1 : 0));
        source.addEventListener('error', () => source.readyState === EventSource.CLOSED && resolve(count));
      }),
    `${streamUrl}?token=${streamToken}&after=0-0`,
  );
  expect(finishes).toBe(1);
});
