import { Console } from './kit/console.ts';
import { expect, test } from './kit/test.ts';
import { openWorld } from './kit/world.ts';

// The browser logs the failed logins that this test causes.
const refused = /status of 40[013]/;

test('the printed link signs in once, and leaves the address', { tag: ['@core', '@daily'] }, async ({
  signedOut: page,
  guard,
}) => {
  guard.allow(refused);
  const world = await openWorld();
  try {
    await page.goto(world.link);
    await expect(page.getByRole('heading', { name: 'Start your first task' })).toBeVisible();
    expect(page.url()).toBe(`${world.console}/`);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect(page.getByRole('heading', { name: 'Sign in to Bellhop' })).toBeVisible();
    await page.goto('about:blank');
    await page.goto(world.link);
    await expect(page.getByRole('alert')).toBeVisible();
  } finally {
    await page.goto('about:blank');
    await world.stop();
  }
});

test('a wrong password is reported, the right one leads to the page that was requested', {
  tag: ['@core', '@daily'],
}, async ({ signedOut: page, world, guard }) => {
  guard.allow(refused);
  await page.goto('/inbox');
  await page.getByLabel('E-mail').fill(world.email);
  await page.getByLabel('Password').fill('not the password');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert')).toBeVisible();

  await page.getByLabel('Password').fill(world.password);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'Inbox' })).toBeVisible();
});

test('a session that ends elsewhere asks to sign in, and keeps what was typed', { tag: '@daily' }, async ({
  bell,
  context,
  guard,
  world,
}) => {
  guard.allow(refused);
  const task = await world.api.newTask('a session ends');
  await bell.open(task);
  await bell.message.fill('half a thought');
  await context.clearCookies();
  await bell.page.reload();
  await bell.page.getByLabel('E-mail').fill(world.email);
  await bell.page.getByLabel('Password').fill(world.password);
  await bell.page.keyboard.press('Enter');
  await expect(new Console(bell.page, world.api).message).toHaveValue('half a thought');
});
