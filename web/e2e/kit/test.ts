import { test as base, expect, type Page } from '@playwright/test';
import { typeTexts } from './browser.ts';
import { Console } from './console.ts';
import { Guard } from './guard.ts';
import { signIn, type Cookies } from './session.ts';
import { openWorld, type World } from './world.ts';

export { expect };

interface WorkerFixtures {
  world: World;
  /** Cookies of a signed-in user. */
  session: Cookies;
}

interface Fixtures {
  guard: Guard;
  /** The console, signed in. */
  bell: Console;
  /** The console without a session. */
  signedOut: Page;
  /** One more tab of the same browser. */
  tab: () => Promise<Console>;
}

/** How long starting and stopping the programs of a worker may take, beside the time of its first test. */
export const startMs = 180_000;

/** Tests with a running broker and host; any error in a page fails them at the end. */
export const test = base.extend<Fixtures, WorkerFixtures>({
  world: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from this pattern.
    async ({}, use) => {
      const world = await openWorld();
      await use(world);
      await world.stop();
    },
    { scope: 'worker', timeout: startMs },
  ],
  session: [async ({ world }, use) => use(await signIn(world)), { scope: 'worker' }],
  baseURL: async ({ world }, use) => use(world.console),
  context: async ({ context, browserName }, use) => {
    if (browserName === 'firefox') await typeTexts(context);
    await use(context);
  },
  guard: [
    async ({ context }, use) => {
      const guard = new Guard();
      await guard.watch(context);
      await use(guard);
      expect(guard.findings(), 'errors in the page').toEqual([]);
    },
    { auto: true },
  ],
  bell: async ({ context, page, session, world }, use) => {
    await context.addCookies(session);
    await use(new Console(page, world.api));
  },
  signedOut: async ({ page }, use) => use(page),
  tab: async ({ context, bell }, use) => {
    await use(async () => new Console(await context.newPage(), bell.api));
  },
});
