import { accessible } from './kit/axe.ts';
import { Console } from './kit/console.ts';
import { sessionOf } from './kit/session.ts';
import { expect, test } from './kit/test.ts';
import { samplesOf, shoot, tour, visit } from './kit/tour.ts';

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('every page is free of errors, foreign requests and axe violations', async ({ bell, world }) => {
      test.slow();
      await visit(bell.page, tour(bell, await samplesOf(world)), colorScheme);
    });

    test('the sign-in page too', async ({ signedOut: page }) => {
      await page.goto('/');
      await expect(page.getByRole('heading', { name: 'Sign in to Bellhop' })).toBeVisible();
      await shoot(page, `signin-${colorScheme}`);
      await accessible(page, `sign in, ${colorScheme}`);
    });
  });
}

test('a new user finds pages that explain what to do first', { tag: '@daily' }, async ({ context, newcomer, page }) => {
  const bell = new Console(page, newcomer.api);
  await context.addCookies(await sessionOf(newcomer));
  for (const [path, heading] of [
    ['/', 'Start your first task'],
    ['/inbox', 'Nothing waits for you'],
    ['/notebooks', 'No notebook yet'],
    ['/deliveries', 'Nothing was delivered yet'],
  ] as const) {
    await page.goto(path);
    await expect(page.getByRole('heading', { name: heading })).toBeVisible();
    await accessible(page, `empty ${path}`);
    await shoot(page, `empty${path.replaceAll('/', '-')}`);
  }
  await page.goto('/');
  await page.getByRole('textbox', { name: 'First message' }).fill('write hello.md: # Hello');
  await page.getByRole('button', { name: 'Start task' }).click();
  await expect(bell.allow).toBeEnabled();
  await bell.allow.click();
  await bell.done();
  await shoot(page, 'first-task');
});
