import { basicServers, openBasic, type BasicServer, type Reach } from './kit/basic.ts';
import type { Console } from './kit/console.ts';
import { expect, test } from './kit/test.ts';
import type { World } from './kit/world.ts';

const words = (n: number) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(' ');

/** Waits until the task is done, as the broker and the page show it. */
async function isDone({ page }: Console, world: World, id: string, turns: number): Promise<void> {
  await expect.poll(async () => (await world.api.task(id)).agentStatus).toBe('idle');
  await expect
    .poll(async () => (await world.api.messages(id)).filter((m) => m.role === 'ASSISTANT').length)
    .toBe(turns);
  await expect(page.getByRole('button', { name: /^Stop/ })).toHaveCount(0);
  await expect(page.getByRole('main').getByText('Done', { exact: true })).toBeVisible();
  const row = page.getByRole('region', { name: 'Tasks' }).locator(`a[href$="${id}"]`);
  await expect(row).toContainText('Done');
}

/** Two turns, a reload and a stop. Returns the id of the task. */
async function drive(bell: Console, world: World, server: BasicServer, reach: Reach): Promise<string> {
  const streams: URL[] = [];
  bell.page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes('/stream/')) streams.push(new URL(request.url()));
  });
  await server.setReach(reach);
  const { id } = await world.api.newTask(`basic ${reach}`, { hostId: server.id });
  await bell.open(id);
  await bell.send(words(8));
  await expect(bell.answers.last()).toContainText('w7 w8');
  await isDone(bell, world, id, 1);
  await bell.send('the second turn');
  await expect(bell.answers.last()).toContainText('the second turn');
  await isDone(bell, world, id, 2);
  expect((await world.api.task(id)).lastTurn).toMatchObject({ finishReason: 'stop', reason: '' });
  const origin = reach === 'direct' ? server.url : world.console;
  expect(streams.map((url) => [url.origin, url.searchParams.has('token')])).toEqual([
    [origin, true],
    [origin, true],
  ]);

  await bell.page.reload();
  await expect(bell.answers).toHaveText([/w1 w2 w3 w4 w5 w6 w7 w8/, /the second turn/]);
  await expect(bell.page.getByText('is lost')).toBeHidden();

  await bell.send(words(2000)); // 40 s, so that a slow page can stop it
  await expect(bell.answers.last()).toContainText('w1 w2 w3');
  await bell.stop.click();
  await expect(bell.thread).toContainText('Stopped by you');
  await expect(bell.stop).toBeHidden();
  await expect.poll(async () => (await world.api.task(id)).lastTurn?.reason).toBe('aborted');
  return id;
}

for (const name of Object.keys(basicServers) as (keyof typeof basicServers)[]) {
  test(`${name}, direct and relayed: two turns, a reload, a stop`, async ({ bell, world, guard }) => {
    test.slow();
    guard.allow(/net::ERR_|Failed to fetch/);
    const server = await openBasic(world, name);
    try {
      await drive(bell, world, server, 'direct');
      await drive(bell, world, server, 'relay');
    } finally {
      await bell.leave();
      await server.stop();
    }
  });
}

for (const reach of ['direct', 'relay'] as const) {
  test(`a basic server, ${reach}: a page that was left during a turn is usable`, async ({ bell, world, guard }) => {
    guard.allow(/net::ERR_|Failed to fetch/);
    const server = await openBasic(world, 'a server without finish events');
    try {
      await server.setReach(reach);
      const { id } = await world.api.newTask(`basic ${reach}`, { hostId: server.id });
      await bell.open(id);
      await bell.send(words(200));
      await expect(bell.answers.last()).toContainText('w1 w2 w3');
      await bell.page.reload();
      await expect(bell.page.getByText('is lost')).toBeHidden();
      await bell.send('after the reload');
      await expect(bell.page.getByRole('list', { name: 'Queued messages' })).toBeHidden();
      // A text of the turn that was left may come after it.
      const texts = async () => (await world.api.messages(id)).filter((m) => m.role !== 'USER').map((m) => m.message);
      await expect.poll(texts).toContain('after the reload');
      await expect
        .poll(async () => (await world.api.task(id)).lastTurn)
        .toMatchObject({ finishReason: 'stop', reason: '' });
    } finally {
      await bell.leave();
      await server.stop();
    }
  });
}
