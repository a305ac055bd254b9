import { join } from 'node:path';
import { test as base, expect, type Page } from '@playwright/test';
import { typeTexts } from './browser.ts';
import { Console } from './console.ts';
import { Guard } from './guard.ts';
import { directory } from './program.ts';
import { sessionOf } from './session.ts';
import { buildSite } from './site.ts';
import { openFarHost, openUser, openWorld, type FarHost, type World } from './world.ts';

export { expect };

/**
 * Each starts when the first test asks for it. They are all here, because Playwright starts another worker for tests
 * that could ask for other ones.
 */
interface WorkerFixtures {
  /** A broker and its host, without an agent but the demo, a key, and a registry to install one from. */
  shared: World;
  /** Another broker, with two hosts. */
  withFar: { world: World; far: FarHost };
  /** The address of the documentation. */
  site: string;
}

interface Fixtures {
  /** The broker and host that tests share, as the user of this test's file. */
  world: World;
  /** The same as a user of this test alone, who has nothing yet. */
  newcomer: World;
  guard: Guard;
  /** The console, signed in. */
  bell: Console;
  /** The console without a session. */
  signedOut: Page;
  /** One more tab of the same browser. */
  tab: () => Promise<Console>;
}

/** The users of the files whose tests this worker has run. Pages would have ever more to show with one for all. */
const users = new Map<string, Promise<World>>();

function userOf(file: string, world: World): Promise<World> {
  const user = users.get(file) ?? openUser(world);
  users.set(file, user);
  return user;
}

/** How long starting and stopping the programs of a worker may take, beside the time of its first test. */
export const startMs = 180_000;

/** Tests with a running broker and host; any error in a page fails them at the end. */
export const test = base.extend<Fixtures, WorkerFixtures>({
  shared: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from this pattern.
    async ({}, use) => {
      const { path, remove } = directory();
      const none = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', GEMINI_API_KEY: '', OPENROUTER_API_KEY: '' };
      const world = await openWorld({
        ...none,
        BELLHOP_AGENTS_DIR: join(path, 'agents'),
        npm_config_registry: 'http://127.0.0.1:1/',
      });
      await use(world);
      await world.stop();
      remove();
    },
    { scope: 'worker', timeout: startMs },
  ],
  withFar: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from this pattern.
    async ({}, use) => {
      const world = await openWorld();
      const far = await openFarHost(world);
      await use({ world, far });
      await far.stop();
      await world.stop();
    },
    { scope: 'worker', timeout: startMs },
  ],
  site: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from this pattern.
    async ({}, use) => {
      const { url, remove } = buildSite();
      await use(url);
      remove();
    },
    { scope: 'worker', timeout: startMs },
  ],
  world: async ({ shared }, use, { file }) => use(await userOf(file, shared)),
  newcomer: async ({ shared }, use) => use(await openUser(shared)),
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
  bell: async ({ context, page, world }, use) => {
    await context.addCookies(await sessionOf(world));
    await use(new Console(page, world.api));
  },
  signedOut: async ({ page }, use) => use(page),
  tab: async ({ context, bell }, use) => {
    await use(async () => new Console(await context.newPage(), bell.api));
  },
});
