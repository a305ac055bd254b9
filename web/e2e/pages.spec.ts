import { accessible } from './kit/axe.ts';
import { Console } from './kit/console.ts';
import { expect, startMs, test as base } from './kit/test.ts';
import { createSamples, shoot, tour, visit } from './kit/tour.ts';
import { openWorld } from './kit/world.ts';

/** The tasks and notebooks that the pages show, made once per worker. */
const test = base.extend<object, { known: Awaited<ReturnType<typeof createSamples>> }>({
  known: [async ({ world }, use) => use(await createSamples(world)), { scope: 'worker', timeout: startMs }],
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('every page is free of errors, foreign requests and axe violations', async ({ bell, known }) => {
      test.slow();
      await visit(bell.page, tour(bell, known), colorScheme);
    });

    test('the sign-in page too', async ({ signedOut: page }) => {
      await page.goto('/');
      await expect(page.getByRole('heading', { name: 'Sign in to Bellhop' })).toBeVisible();
      await shoot(page, `signin-${colorScheme}`);
      await accessible(page, `sign in, ${colorScheme}`);
    });
  });
}

test('a new user finds pages that explain what to do first', async ({ page }) => {
  const world = await openWorld();
  const bell = new Console(page, world.api);
  try {
    await page.goto(world.link);
    for (const [path, heading] of [
      ['/', 'Start your first task'],
      ['/inbox', 'Nothing waits for you'],
      ['/notebooks', 'No notebook yet'],
      ['/deliveries', 'Nothing was delivered yet'],
    ] as const) {
      if (path !== '/') await page.goto(world.console + path);
      await expect(page.getByRole('heading', { name: heading })).toBeVisible();
      await accessible(page, `empty ${path}`);
      await shoot(page, `empty${path.replaceAll('/', '-')}`);
    }
    await page.goto(world.console);
    await page.getByRole('textbox', { name: 'First message' }).fill('write hello.md: # Hello');
    await page.getByRole('button', { name: 'Start task' }).click();
    await expect(bell.allow).toBeEnabled();
    await bell.allow.click();
    await bell.done();
    await shoot(page, 'first-task');
  } finally {
    await bell.leave();
    await world.stop();
  }
});
