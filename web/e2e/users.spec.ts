import { accessible } from './kit/axe.ts';
import { sessionOf } from './kit/session.ts';
import { expect, test } from './kit/test.ts';
import { addUser, openWorld } from './kit/world.ts';

test('an administrator disables, enables and deletes a user', async ({ page, browser, guard }) => {
  guard.allow(/40[0139]/);
  const world = await openWorld();
  const context = await browser.newContext();
  const other = await context.newPage();
  const eve = { email: 'eve@example.com', password: 'four words in the lobby' };
  const signIn = async () => {
    await other.getByLabel('E-mail').fill(eve.email);
    await other.getByLabel('Password').fill(eve.password);
    await other.getByRole('button', { name: 'Sign in' }).click();
  };
  const question = other.getByRole('heading', { name: 'Sign in to Bellhop' });
  try {
    await addUser(world, eve);
    await page.goto(world.link);
    await other.goto(world.console);
    await signIn();
    await expect(other.getByRole('link', { name: 'Settings' })).toBeVisible();
    await expect(other.getByRole('link', { name: 'Users' })).toHaveCount(0);

    await page.getByRole('link', { name: 'Users' }).click();
    const row = page.getByRole('row', { name: eve.email });
    await page.getByRole('button', { name: `Sign-ins of ${eve.email}` }).click();
    const dialog = page.getByRole('dialog', { name: `Where ${eve.email} is signed in` });
    // Browsers reach bellhop.localhost at either loopback address.
    await expect(dialog.getByRole('table', { name: 'Sign-ins' })).toContainText(/127\.0\.0\.1|::1/);
    await accessible(page, 'sign-ins of a user');
    await dialog.getByRole('button', { name: /^End:/ }).click();
    await page.getByRole('button', { name: 'End sign-in' }).click();
    await expect(dialog.getByText('Not signed in anywhere.')).toBeVisible();
    await page.keyboard.press('Escape');
    await other.reload();
    await expect(question).toBeVisible();
    await signIn();
    await expect(other.getByRole('link', { name: 'Settings' })).toBeVisible();

    await row.getByRole('button', { name: /^Disable:/ }).click();
    await page.getByRole('button', { name: 'Disable user' }).click();
    await expect(row).toContainText('Disabled');
    await accessible(page, 'users');
    await other.reload();
    await expect(question).toBeVisible();
    await signIn();
    await expect(other.getByRole('alert')).toContainText('This account is disabled');
    await page.getByRole('button', { name: `Enable ${eve.email}` }).click();
    await expect(row).toContainText('May sign in');
    await signIn();
    await expect(other.getByRole('link', { name: 'Settings' })).toBeVisible();

    const own = page.getByRole('row', { name: world.email });
    await own.getByRole('button', { name: /^Disable:/ }).click();
    await page.getByRole('button', { name: 'Disable user' }).click();
    await expect(page.getByRole('alert')).toContainText('the last administrator');

    await row.getByRole('button', { name: /^Delete:/ }).click();
    await page.getByRole('button', { name: 'Delete user' }).click();
    await expect(row).toHaveCount(0);
    await other.reload();
    await expect(question).toBeVisible();
  } finally {
    await context.close();
    await page.goto('about:blank');
    await world.stop();
  }
});

test('a user ends a sign-in of another browser', async ({ browser, context: own, guard, newcomer: world, page }) => {
  guard.allow(/401/);
  const context = await browser.newContext({ userAgent: 'Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/140.0' });
  const other = await context.newPage();
  await own.addCookies(await sessionOf(world));
  await page.goto('/');
  await other.goto(world.console);
  await other.getByLabel('E-mail').fill(world.email);
  await other.getByLabel('Password').fill(world.password);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await expect(other.getByRole('link', { name: 'Settings' })).toBeVisible();

  await page.getByRole('link', { name: 'Settings' }).click();
  const rows = page.getByRole('table', { name: 'Sign-ins' }).getByRole('row');
  await expect(rows).toHaveCount(3);
  await expect(rows.filter({ hasText: 'this one' })).toHaveCount(1);
  await accessible(page, 'settings with sign-ins');
  await rows.filter({ hasText: 'Firefox on Linux' }).getByRole('button', { name: /^End:/ }).click();
  await page.getByRole('button', { name: 'End sign-in' }).click();
  await expect(rows).toHaveCount(2);
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible();
  await other.reload();
  await expect(other.getByRole('heading', { name: 'Sign in to Bellhop' })).toBeVisible();
  await context.close();
});
