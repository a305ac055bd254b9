import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext } from '@playwright/test';
import { commentOn, commentForm, openChanges } from '../kit/changes.ts';
import { Console } from '../kit/console.ts';
import { freePort, startProgram } from '../kit/program.ts';
import { connect, deliver, offerPush, shown, tap, workerOf, type Delivery } from '../kit/push.ts';
import { PushService } from '../kit/pushservice.ts';
import { expect } from '../kit/test.ts';
import { test } from '../kit/whole.ts';
import { git, openForgeHost, type World } from '../kit/world.ts';

test.use({ serviceWorkers: 'allow', permissions: ['notifications'] });

/** Starts the scripted model and returns its address. */
async function startModel() {
  const port = await freePort();
  const command = [process.env.BELLHOP_E2E_MODEL ?? 'mockllm', '-addr', `127.0.0.1:${port}`];
  const model = await startProgram(command, (output) => output.endsWith('\n'), {});
  return { url: `http://127.0.0.1:${port}`, stop: model.stop };
}

/** Signs in by the form, and has this browser notified. */
async function signIn({ page }: Console, context: BrowserContext, world: World): Promise<Delivery> {
  await page.goto('/settings');
  await page.getByLabel('E-mail').fill(world.email);
  await page.getByLabel('Password').fill(world.password);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible();
  await page.getByRole('button', { name: 'Notify this browser' }).click();
  const browsers = page.getByRole('list', { name: 'Browsers that are notified' });
  await expect(browsers.getByRole('listitem')).toContainText('this one');
  return connect(context, world);
}

/** Allows the question of a task in the notification that the push service got, while no page is open. */
async function allowInNotification(context: BrowserContext, service: PushService, delivery: Delivery, taskId: string) {
  await expect.poll(() => service.received.length).toBe(1);
  const worker = await workerOf(context);
  await deliver(delivery, service.received[0]?.plain ?? '');
  await expect.poll(() => shown(worker)).toHaveLength(1);
  expect((await shown(worker))[0]).toMatchObject({ tag: `bellhop-${taskId}`, actions: ['allow', 'deny'] });
  await tap(worker, 'allow');
}

test('Claude Code works from the prompt to an updated pull request, allowed from a notification', async ({
  context,
  page,
  world,
}) => {
  const service = await new PushService().start();
  const model = await startModel();
  const env = { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'a-key-of-tests-only' };
  const forge = await openForgeHost(world, 'kitchen', { env });
  await offerPush(context, service);
  const delivery = await signIn(new Console(page, world.api), context, world);

  await page.goto('/');
  await page.getByRole('combobox', { name: 'Agent' }).selectOption('claude');
  await page.getByRole('combobox', { name: 'Project' }).selectOption('shop (main)');
  await page.getByRole('textbox', { name: 'First message' }).fill('WRITE menu.txt');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/tasks/*');
  const id = new Console(page, world.api).taskId();
  await expect.poll(async () => (await world.api.task(id)).openTurn).not.toBeNull();
  expect(await world.api.task(id)).toMatchObject({ agent: 'claude', project: 'shop', hostId: forge.id });
  await page.close();
  await allowInNotification(context, service, delivery, id);
  await expect.poll(async () => (await world.api.task(id)).openTurn).toBeNull();
  const menu = join(forge.workspaceOf(id), 'menu.txt');
  expect(readFileSync(menu, 'utf8')).toBe('hello from the mock LLM\n');

  const bell = new Console(await context.newPage(), world.api);
  await bell.open(id);
  const pane = await openChanges(bell.page);
  await commentOn(pane, 1, 'menu.txt').click();
  await commentForm(pane).fill('EDIT menu.txt hello soup');
  await commentForm(pane).press('Enter');
  await pane.getByRole('button', { name: 'Send 1 comment' }).click();
  await bell.allow.click();
  await expect.poll(async () => (await world.api.messages(id)).filter((m) => m.role === 'USER').length).toBe(2);
  await expect.poll(async () => (await world.api.task(id)).openTurn).toBeNull();
  await expect(pane.getByRole('region', { name: 'Changes in menu.txt' })).toContainText('soup from the mock LLM');

  const bar = bell.page.getByRole('region', { name: 'Shipping' });
  await bar.getByRole('button', { name: 'Commit', exact: true }).click();
  await bar.getByRole('textbox', { name: 'Commit message' }).fill('Serve soup');
  await bar.getByRole('button', { name: 'Commit all changes' }).click();
  await expect(bar).toContainText('Everything is committed');
  await bar.getByRole('button', { name: 'Push', exact: true }).click();
  await expect(bar).toContainText('Pushed');
  const branch = git(forge.workspaceOf(id), 'symbolic-ref', '--short', 'HEAD');
  expect(git(forge.bare, 'show', `${branch}:menu.txt`)).toBe('soup from the mock LLM');
  await bar.getByRole('button', { name: 'Open pull request' }).click();
  const title = bar.getByRole('textbox', { name: 'Title' });
  await title.fill('Serve soup');
  await bar.getByRole('button', { name: 'Open the pull request' }).click();
  await expect(bar.getByRole('link', { name: 'Pull request #1' })).toBeVisible();
  await bar.getByRole('button', { name: 'Update pull request' }).click();
  await expect(title).toHaveValue('Serve soup');
  await title.fill('Serve soup at noon');
  await bar.getByRole('button', { name: 'Update the pull request' }).click();
  await expect(bell.page.getByText('Pull request #1 is updated.')).toBeVisible();

  await bell.page.keyboard.press('Control+k');
  await bell.page.getByRole('combobox', { name: 'Find a task, a page or an act' }).fill('archive');
  await bell.page.getByRole('option', { name: 'Archive this task' }).click();
  await expect.poll(async () => (await world.api.task(id)).archived).toBe(true);
  await bell.page.close();
  await forge.stop();
  await model.stop();
  await service.stop();
});
