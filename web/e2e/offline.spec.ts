import { expect, test } from './kit/test.ts';
import { openWorld } from './kit/world.ts';
import { signIn } from './kit/session.ts';
import { Console } from './kit/console.ts';
import { test as whole } from './kit/whole.ts';

test.use({ serviceWorkers: 'allow' });
whole.use({ serviceWorkers: 'allow' });

const noBroker = /net::ERR_|Failed to fetch|50\d/;

test('what was seen can be read without the broker, and not after signing out', async ({ context, page, guard }) => {
  guard.allow(noBroker, /401/);
  const world = await openWorld();
  await context.addCookies(await signIn(world));
  const bell = new Console(page, world.api);
  const seen = await world.api.newTask('A task that was seen');
  await world.api.prompt(seen.id, 'say hello from before');
  await page.goto(`${world.console}/`);
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
  await page.goto(`${world.console}/tasks/${seen.id}`);
  await expect(bell.thread).toContainText('hello from before');
  await expect(page.getByRole('link', { name: /A task that was seen/ })).toBeVisible();
  const kept = () => page.evaluate(async () => (await (await caches.open('bellhop-seen')).keys()).map((r) => r.url));
  const read = ['/', '/api/auth/me', '/api/tasks', `/api/tasks/${seen.id}`, `/api/tasks/${seen.id}/messages`];
  const missing = async () => {
    const paths = (await kept()).map((url) => new URL(url).pathname);
    return read.filter((path) => !paths.includes(path));
  };
  await expect.poll(missing).toEqual([]);

  await world.stop();
  await page.reload();
  await expect(page.getByRole('status').filter({ hasText: 'Offline' })).toBeVisible();
  await expect(bell.thread).toContainText('hello from before');
  await page.goto(`${world.console}/`);
  await expect(page.getByRole('link', { name: /A task that was seen/ })).toBeVisible();

  // Signing out works without the broker as far as this browser goes.
  await page.goto(`${world.console}/settings`);
  await page.getByText('Sign out', { exact: true }).click();
  await expect.poll(kept).toEqual([]);
});

whole('the console can be installed', async ({ bell }) => {
  await bell.page.goto('/');
  await bell.page.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
  const cdp = await bell.page.context().newCDPSession(bell.page);
  const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors');
  expect(installabilityErrors.filter((e) => e.errorId !== 'in-incognito')).toEqual([]);
});
