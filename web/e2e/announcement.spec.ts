import type { Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/far.ts';
import { openWorld, type World } from './kit/world.ts';

interface Offers {
  hosts: { offer?: { notices?: object[] } }[];
}

interface Announced {
  announcementId: string;
}

const announce = (world: World, text: string, more: object = {}) =>
  world.api.call<Announced>('POST', '/api/announcements', { text, ...more });

const cancel = (world: World, { announcementId }: Announced) =>
  world.api.call('DELETE', `/api/announcements/${announcementId}`);

const noticesOf = async (world: World) =>
  (await world.api.call<Offers>('GET', '/api/agents')).hosts.flatMap((h) => h.offer?.notices ?? []);

const region = (page: Page) => page.getByRole('region', { name: 'Announcements' });

test('an announcement appears by itself, can be dismissed, taken back, and expires', async ({ bell, world }) => {
  const { page } = bell;
  await page.clock.install();
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  const first = await announce(world, 'The broker restarts at noon', { level: 'warning' });
  const second = await announce(world, 'Taken back soon');
  await expect(region(page)).toContainText('Warning: The broker restarts at noon');
  await expect(region(page)).toContainText('Notice: Taken back soon');
  await accessible(page, 'announcements');
  await page.getByRole('button', { name: 'Dismiss: The broker restarts at noon' }).click();
  await expect(region(page)).not.toContainText('restarts at noon');
  await expect(region(page), 'the other announcement stays').toContainText('Taken back soon');
  await cancel(world, second);
  await expect(region(page)).toBeEmpty();
  await page.reload();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  const last = await announce(world, 'Gone in an hour', { level: 'error', expiresIn: 3600 });
  await expect(region(page)).toContainText('Urgent: Gone in an hour');
  await expect(region(page)).not.toContainText('restarts at noon'); // it stays dismissed
  await page.clock.fastForward('01:00:01');
  await expect(region(page)).toBeEmpty();
  for (const one of [first, last]) await cancel(world, one);
});

test('a wrong policy file of a host is shown to every user, until it is right again', async ({ bell, far, world }) => {
  test.slow();
  const { page } = bell;
  const reads = (pattern: RegExp) =>
    expect(async () => {
      await page.reload(); // a page that stays reads it within a minute
      await expect(region(page)).toHaveText(pattern, { timeout: 4000 });
    }).toPass({ timeout: 90_000 });
  await page.goto('/');
  far.configure('policy:\n  rules: [{tool: x, action: maybe}]\n');
  await reads(/^Warning: far: The host's policy file is wrong\./);
  await expect(region(page), 'no file of the host').not.toContainText('maybe');
  await page.getByRole('button', { name: /^Dismiss: far:/ }).click();
  await expect(region(page)).toBeEmpty();
  far.configure('');
  // The dismissed notice is hidden in any case, so ask the broker.
  await expect(async () => expect(await noticesOf(world)).toEqual([])).toPass({ timeout: 90_000 });
});

test('a broker that stops says so', async ({ page, guard }) => {
  guard.allow(/net::ERR_|Failed to fetch|Failed to load/);
  const world = await openWorld();
  const feed = page.waitForResponse((r) => r.url().endsWith('/api/events') && r.ok());
  await page.goto(world.link);
  await expect(page.getByRole('button', { name: 'New task' })).toBeVisible();
  await feed;
  await world.stop();
  await expect(region(page)).toHaveText(/^Warning: The server stops or restarts\./);
});

test.describe('on a phone at night', () => {
  test.use({ viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true });

  test('a long announcement fits, and the page below it stays whole', async ({ bell, world }) => {
    const { page } = bell;
    const long = await announce(world, `${'A long announcement '.repeat(20)}${'x'.repeat(90)}`, { level: 'success' });
    await page.goto('/');
    await expect(region(page)).toContainText('Good news: A long announcement');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(390);
    const button = page.getByRole('button', { name: /^Dismiss:/ });
    const box = await button.boundingBox();
    expect(Math.min(box?.height ?? 0, box?.width ?? 0), 'a target for a thumb').toBeGreaterThanOrEqual(44);
    await accessible(page, 'an announcement on a phone');
    await expect(page.getByRole('button', { name: 'New task' })).toBeInViewport();
    await button.tap();
    await expect(region(page)).toBeEmpty();
    await cancel(world, long);
  });
});
