import { randomUUID } from 'node:crypto';
import type { Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import { Console } from './kit/console.ts';
import { openInstallingHost } from './kit/installing.ts';
import { sessionOf } from './kit/session.ts';
import { expect, test as base } from './kit/test.ts';
import { shoot } from './kit/tour.ts';
import { addUser, type World } from './kit/world.ts';

/** A new user, who is signed in. */
const test = base.extend<{ fresh: World }>({
  fresh: [
    async ({ context, newcomer }, use) => {
      await context.addCookies(await sessionOf(newcomer));
      await use(newcomer);
    },
    { auto: true },
  ],
});

const steps = (page: Page) => page.getByRole('region', { name: 'First steps' });
const step = (page: Page, title: string) => page.getByRole('listitem').filter({ hasText: title }).first();
const dialog = (page: Page) => page.getByRole('dialog');

test('the first steps tick themselves, are hidden, and come back from the settings', async ({ page, fresh }) => {
  const bell = new Console(page, fresh.api);
  await page.goto('/');
  await expect(steps(page)).toContainText('0 of 5 done');
  await expect(step(page, 'Get notified').getByRole('button')).toBeVisible();
  await step(page, 'Add a project').getByText('How to add one').click();
  await expect(step(page, 'Add a project')).toContainText('--project');
  await step(page, 'Give it a key').getByText('How to give one').click();
  await expect(step(page, 'Give it a key')).toContainText('export ANTHROPIC_API_KEY_FILE=');
  await accessible(page, 'first steps');
  await shoot(page, 'first-steps');

  const home = page.getByRole('main');
  const agent = home.getByRole('combobox', { name: 'Agent' });
  await expect(agent.locator('option').first()).toHaveText('Default (Scripted demo agent)');
  await expect(home).toContainText('It follows a script: no language model answers');
  await step(page, 'Start a task').getByRole('button').click();
  const message = home.getByRole('textbox', { name: 'First message' });
  await expect(message).toBeFocused();
  await home.getByRole('button', { name: 'write notes.md: hello' }).click();
  await expect(message).toHaveValue('write notes.md: hello');
  await expect(message).toBeFocused();
  await message.press('Enter');
  await page.waitForURL('**/tasks/*');
  await expect(bell.allow).toBeEnabled();
  await bell.allow.click();
  await bell.done();
  await expect(bell.answers.last()).toContainText('Scripted demo agent');
  await expect(page.getByRole('list', { name: 'State of the task' })).toContainText('demo (scripted)');

  await page.goto('/');
  await expect(steps(page)).toContainText('1 of 5 done');
  await expect(step(page, 'Start a task')).toContainText('(done)');
  await steps(page).getByRole('button', { name: 'Hide' }).click();
  await expect(steps(page)).toBeHidden();
  await page.reload();
  await expect(home.getByRole('textbox', { name: 'First message' })).toBeVisible();
  await page.getByRole('link', { name: 'Settings' }).click();
  const shown = page.getByRole('checkbox', { name: /Show the first steps/ });
  await expect(shown).not.toBeChecked();
  await shown.check();
  await page.getByRole('link', { name: 'Bellhop' }).click();
  await expect(steps(page)).toContainText('1 of 5 done');
  await bell.leave();
});

for (const { name, viewport, colorScheme } of [
  { name: 'on a desktop', viewport: { width: 1280, height: 800 }, colorScheme: 'light' as const },
  { name: 'on a phone, dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
]) {
  test(`an installation that fails names the remedy, ${name}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await page.goto('/');
    if (viewport.width < 720) {
      await page.getByRole('link', { name: 'First steps: 0 of 5 done' }).click();
      await expect(page.getByRole('heading', { name: 'First steps', level: 1 })).toBeVisible();
      await accessible(page, `first steps ${name}`);
      await shoot(page, 'first-steps-phone');
    }
    await page.getByRole('button', { name: 'Install an agent' }).click();
    await dialog(page).getByRole('button', { name: 'Install Claude Code' }).click();
    const failure = dialog(page).getByRole('alert');
    await expect(failure).toContainText('the npm registry cannot be reached');
    await expect(failure).toContainText('npm_config_registry');
    await expect(dialog(page).getByRole('log')).toContainText('connection refused');
    await accessible(page, `a failed installation ${name}`);
    await shoot(page, `install-failed-${viewport.width}`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    await expect(failure.getByRole('button', { name: 'Install again' })).toBeVisible();
    await page.goto('about:blank');
  });
}

test('an administrator installs an agent, which works at once, without a restart', async ({ page, fresh }) => {
  test.slow();
  const bell = new Console(page, fresh.api);
  const host = await openInstallingHost(fresh, 'installing');
  try {
    await page.goto('/');
    await expect(steps(page)).toContainText('0 of 5 done');
    await page.getByRole('link', { name: 'Agent hosts' }).click();
    await page.getByRole('button', { name: 'Agents of installing' }).click();
    const row = dialog(page).getByRole('listitem').filter({ hasText: 'late' });
    await expect(row).toContainText('Not installed');
    await row.getByRole('button', { name: 'Install late' }).click();
    await expect(row.getByRole('log')).toContainText('the first part');
    await expect(row.getByRole('status')).toHaveText('npm fetches its parts');
    await accessible(page, 'a running installation');
    await row.getByRole('button', { name: 'Cancel the installation of late' }).click();
    await expect(row).toContainText('Cancelled. Nothing was installed.');

    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Bellhop' }).click();
    await page.getByRole('button', { name: 'Install an agent' }).click();
    await row.getByRole('button', { name: 'Install late' }).click();
    await expect(row.getByRole('log')).toContainText('the first part');
    await host.release();
    await expect(row).toContainText('Installed 0.49.0');
    await page.keyboard.press('Escape');
    await expect(step(page, 'Install an agent')).toContainText('late 0.49.0 on installing');
    const form = page.getByRole('main');
    await form.getByRole('combobox', { name: 'Host' }).selectOption('installing');
    await form.getByRole('combobox', { name: 'Agent' }).selectOption('late');
    await form.getByRole('textbox', { name: 'First message' }).fill('Write a file');
    await form.getByRole('button', { name: 'Start task' }).click();
    await page.waitForURL('**/tasks/*');
    await bell.done();
    await expect(bell.thread).toContainText('It is written.');
    await expect(bell.thread).not.toContainText('Scripted demo agent');
    await bell.thread.getByRole('button', { name: /1 file changed/ }).click();
    await expect(page.getByRole('complementary', { name: 'Changes' })).toContainText('made by an installed agent');

    await page.goto('/audit');
    await expect(page.getByRole('row').filter({ hasText: 'Agent installed on a host' }).first()).toContainText(
      'installing',
    );
    await expect(page.getByRole('row').filter({ hasText: 'Installation cancelled' }).first()).toContainText(
      'installing',
    );
  } finally {
    await bell.leave();
    await host.stop();
  }
});

test('a host without its operator’s leave says so, and a user who is no administrator cannot install', async ({
  page,
  fresh,
  guard,
}) => {
  // What the test itself requests, and what the page was reading when its user signed out.
  guard.allow(/status of 40[13]/);
  const bo = { email: `bo-${randomUUID()}@example.org`, password: 'a-password-of-tests-only' };
  const host = await openInstallingHost(fresh, 'closed', false);
  try {
    await page.goto('/');
    await page.getByRole('link', { name: 'Agent hosts' }).click(); // there is one once the user is signed in
    await page.getByRole('button', { name: 'Agents of closed' }).click();
    await expect(dialog(page)).toContainText('This host does not let administrators install programs');
    await expect(dialog(page).getByRole('button', { name: /^Install/ })).toHaveCount(0);
    await page.keyboard.press('Escape');
    await addUser(fresh, bo);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('textbox', { name: 'E-mail' }).fill(bo.email);
    await page.getByLabel('Password').fill(bo.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(step(page, 'Install an agent')).toContainText('Your administrator installs one');
    const status = await page.evaluate(
      async (path) =>
        (
          await fetch(path, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"program":"claude"}',
          })
        ).status,
      `/api/hosts/${host.id}/installations`,
    );
    expect(status).toBe(403);
  } finally {
    await page.goto('about:blank');
    await host.stop();
  }
});
