import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import { openForgeHost, type ForgeHost, type World } from './kit/world.ts';

/** A task with an ignored file in its clone of the project "shop". */
async function begun(world: World, forge: ForgeHost, title: string) {
  const task = await world.api.newTask(title, { hostId: forge.id, project: 'shop', agent: 'demo' });
  await world.api.prompt(task.id, 'say hello');
  await expect.poll(async () => (await world.api.task(task.id)).openTurn).toBeNull();
  const dir = forge.workspaceOf(task.id);
  writeFileSync(join(dir, '.env'), 'KEY=only-here\n');
  return { id: task.id, title, dir };
}

async function askToDelete(page: Page, title: string): Promise<Locator> {
  await page.getByRole('button', { name: `Actions for ${title}` }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete this task?' });
  await expect(dialog).toContainText(title);
  return dialog;
}

const hidden = 'a\u202egpj.sh';
const spelled = 'a\\u202egpj.sh';

for (const [device, width, colorScheme] of [
  ['a desktop', 1280, 'light'],
  ['a phone in the dark', 390, 'dark'],
] as const) {
  test.describe(`on ${device}`, () => {
    test.use({ viewport: { width, height: 844 }, colorScheme });

    test('a deleted task loses what exists only in its workspace when its user confirms what is there now', async ({
      bell,
      world,
      guard,
    }) => {
      guard.allow(/409 .*onlyCopies=/);
      test.slow();
      const { page } = bell;
      const forge = await openForgeHost(world, `shop of ${device}`, { files: { '.gitignore': '.env\n' } });
      const kept = await begun(world, forge, `Kept on ${device}`);
      const lost = await begun(world, forge, `Lost on ${device}`);
      mkdirSync(join(kept.dir, 'drawings'));
      for (let i = 0; i < 250; i++) writeFileSync(join(kept.dir, 'drawings', `${i}.svg`), 'x');
      for (let i = 0; i < 60; i++) writeFileSync(join(kept.dir, `${'long-'.repeat(30)}${i}`), 'x');
      writeFileSync(join(kept.dir, hidden), 'x');
      await page.goto('/');

      const first = await askToDelete(page, kept.title);
      const list = first.getByRole('region', { name: 'What exists only there' });
      await expect(list).toContainText('311 changed files');
      await expect(list).toContainText('drawings/250 files');
      await expect(list.getByText(spelled, { exact: true })).toBeAttached();
      await expect(list.getByRole('list', { name: '1 ignored file' })).toHaveText('.env');
      await expect(first).toContainText(`shop of ${device}`);
      const keep = first.getByRole('button', { name: 'Delete, keep the workspace' });
      await expect(keep).toBeFocused();
      await expect(keep, 'the list scrolls, and not the dialog').toBeInViewport({ ratio: 1 });
      await expect(first.getByRole('button', { name: 'Delete everything' })).toBeDisabled();
      await accessible(page, `what a deletion loses on ${device}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      expect(await list.evaluate((e) => [e.scrollWidth <= e.clientWidth, e.scrollHeight > e.clientHeight])).toEqual([
        true,
        true,
      ]);
      await page.keyboard.press('Enter');
      await expect(first).toBeHidden();
      await expect(page.getByText(/is kept on the host .*\(311 changed files, 1 ignored file\)/)).toBeVisible({
        timeout: 60_000,
      });
      await expect(world.api.task(kept.id)).rejects.toThrow('404');
      expect(existsSync(join(kept.dir, '.env'))).toBe(true);

      const second = await askToDelete(page, lost.title);
      const confirm = second.getByRole('checkbox');
      const everything = second.getByRole('button', { name: 'Delete everything' });
      await confirm.check();
      writeFileSync(join(lost.dir, 'later.txt'), 'x');
      await everything.click();
      await expect(second.getByRole('alert')).toContainText('nothing was deleted');
      await expect(second.getByRole('list', { name: '1 changed file' })).toHaveText('later.txt');
      await expect(confirm).not.toBeChecked();
      expect((await world.api.task(lost.id)).id).toBe(lost.id);
      await confirm.check();
      await everything.click();
      await expect(second).toBeHidden();
      await expect(page.getByText('with its workspace')).toBeVisible();
      await expect(page.getByRole('link', { name: lost.title })).toBeHidden();
      await expect(world.api.task(lost.id)).rejects.toThrow('404');
      expect(existsSync(lost.dir)).toBe(false);
      await bell.leave();
      await forge.stop();
    });
  });
}
