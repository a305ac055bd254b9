import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/far.ts';
import { workspaceOf } from './kit/world.ts';

const bar = (page: Page) => page.getByRole('list', { name: 'State of the task' });
const stop = (page: Page) => page.getByRole('button', { name: 'Stop the agent' });

/** Chooses an act in the palette. */
async function act(page: Page, words: string, label: string) {
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Find a task, a page or an act' });
  await field.fill(words);
  await expect(page.getByRole('listbox', { name: 'Results' }).getByRole('option').first()).toHaveText(label);
  await field.press('Enter');
}

for (const [width, height] of [
  [1280, 800],
  [390, 844],
] as const)
  test(`the header says where a task works and what it used, stops it and commits, ${width} wide`, async ({
    bell,
    world,
  }) => {
    const { page } = bell;
    await page.setViewportSize({ width, height });
    const hosts = (await world.api.call<{ hosts: { id: string; name: string }[] }>('GET', '/api/hosts')).hosts;
    const own = hosts.find((h) => h.name !== 'far');
    const task = await world.api.newTask('stoppable', { hostId: own?.id ?? '' });
    await bell.open(task);
    await bell.send('slow 3000');
    await expect(bell.thread).toContainText('1 2 3'); // a turn that is stopped before it begins has no workspace
    await stop(page).click();
    await bell.done();
    await expect(bell.thread).toContainText('Stopped by you');
    await expect(stop(page)).toBeHidden();

    writeFileSync(join(workspaceOf(world, task.id), 'made.txt'), 'one\ntwo\n');
    await page.reload();
    for (const text of [own?.name ?? '', '1 file +2 −0', 'main (uncommitted changes)']) {
      const fact = bar(page).getByText(text, { exact: true });
      await expect(async () => {
        await fact.scrollIntoViewIfNeeded(); // again, as facts that arrive later move it
        await expect(fact).toBeInViewport({ ratio: 0.9, timeout: 1000 });
      }).toPass();
    }
    await expect(bar(page).getByRole('combobox', { name: 'Permissions' })).toHaveValue('ask');
    await accessible(page, 'status bar');
    await page.getByRole('button', { name: 'Commit the changes' }).click();
    const commit = page.getByRole('region', { name: 'Shipping' });
    await commit.getByRole('textbox', { name: 'Commit message' }).fill('Add made.txt');
    await commit.getByRole('button', { name: 'Commit all changes' }).click();
    await expect(commit).toContainText('Everything is committed');
    await page.getByRole('button', { name: 'Close changes' }).click();
    await expect(bar(page).getByText('main', { exact: true })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Commit the changes' })).toBeHidden();
  });

test('the palette does what can be done with the shown task', async ({ bell, world, far }) => {
  const { page } = bell;
  const task = await world.api.newTask('acts', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send('drip 3000 100');
  await expect(bell.thread).toContainText('w1');
  await act(page, 'stop', 'Stop the agent');
  await bell.done();
  await expect(bell.thread).toContainText('Stopped by you');
  await act(page, 'plan', 'Permissions: Plan only');
  await expect(page.getByRole('combobox', { name: 'Permissions' })).toHaveValue('plan');
  await act(page, 'show ch', 'Show the changes');
  await expect(page.getByRole('complementary', { name: 'Changes' })).toBeVisible();
  await act(page, 'hide ch', 'Hide the changes');
  await expect(page.getByRole('complementary', { name: 'Changes' })).toBeHidden();
  await act(page, 'archive', 'Archive this task');
  await expect.poll(async () => (await world.api.task(task.id)).archived).toBe(true);
  expect((await world.api.task(task.id)).permissionMode).toBe('plan');

  await page.goto('/inbox');
  await expect(page.getByRole('heading', { name: 'Inbox', level: 1 })).toBeVisible();
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('option', { name: 'New task' })).toBeVisible();
  await expect(page.getByRole('option', { name: 'Archive this task' })).toHaveCount(0);
});

test('folded tool calls say how long they took, and a command says how it exited', async ({ bell, world, far }) => {
  const task = await world.api.newTask('steps', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send('steps 4 500');
  await bell.done();
  for (const shown of ['live', 'from history']) {
    await expect(bell.thread.getByText(/^4 steps, \d+ s$/), shown).toBeVisible();
    await expect(bell.thread.getByRole('button', { name: /make/ }), shown).toContainText('exit 3');
    await bell.page.reload();
  }
  const calls = (await world.api.messages(task.id)).flatMap((m) => m.artifacts).filter((a) => a.type === 'TOOL_USE');
  for (const { content } of calls) expect(Number(content.endedAt)).toBeGreaterThanOrEqual(Number(content.startedAt));
});
