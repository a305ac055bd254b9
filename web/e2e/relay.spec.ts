import type { Page } from '@playwright/test';
import { expect, test as withTwoHosts } from './kit/far.ts';
import { test } from './kit/test.ts';

const counted = (n: number) => Array.from({ length: n }, (_, i) => `w${i + 1}`);

/** Returns a list that gets the URL of each stream that the page opens from now on. */
function streams(page: Page): URL[] {
  const seen: URL[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.includes('/stream/')) seen.push(url);
  });
  return seen;
}

withTwoHosts(
  'a host with reach "relay" is streamed through the broker, and the page shows it',
  async ({ bell, far, world }) => {
    await world.api.call('PATCH', `/api/hosts/${far.id}`, { reach: 'relay' });
    try {
      const seen = streams(bell.page);
      const task = await world.api.newTask('relayed', { hostId: far.id, agent: 'mischief' });
      await bell.open(task);
      await bell.send('held 60');
      await expect(bell.page.getByText('through the broker')).toBeVisible();
      far.release(task.id);
      await bell.done();
      await expect.poll(() => bell.words()).toEqual(counted(60));
      expect(new Set(seen.map((url) => url.origin))).toEqual(new Set([world.console]));
    } finally {
      await world.api.call('PATCH', `/api/hosts/${far.id}`, { reach: 'direct' });
    }
  },
);

withTwoHosts(
  'a host that a browser cannot reach is streamed through the broker automatically',
  async ({ bell, far, world, guard }) => {
    guard.allow(/net::ERR_|Failed to fetch/);
    const seen = streams(bell.page);
    const task = await world.api.newTask('refused', { hostId: far.id, agent: 'mischief' });
    await bell.open(task);
    far.proxy.refuse = true;
    try {
      await bell.send('held 60');
      await expect(bell.page.getByText('through the broker')).toBeVisible();
      far.release(task.id);
      await bell.done();
      await expect.poll(() => bell.words()).toEqual(counted(60));
      expect(seen[0]?.origin, 'the direct way is tried first').toBe(far.proxy.url);
      expect(seen.at(-1)?.origin).toBe(world.console);
    } finally {
      far.proxy.refuse = false;
    }
  },
);

test('by default no byte of a stream goes through the broker', { tag: '@daily' }, async ({ bell, world }) => {
  const seen = streams(bell.page);
  await bell.newTask('slow 5');
  await bell.done();
  expect(new Set(seen.map((url) => url.origin))).toEqual(new Set([world.host]));
});
