import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible } from './kit/axe.ts';
import { directory } from './kit/program.ts';
import { expect, test } from './kit/test.ts';
import { git, openForgeHost, type ForgeHost, type World } from './kit/world.ts';

/** A task with a commit in a clone of the project "shop". */
async function committed(world: World, forge: ForgeHost, title: string) {
  const task = await world.api.newTask(title, { hostId: forge.id, project: 'shop', agent: 'demo' });
  await world.api.prompt(task.id, 'say hello');
  const dir = forge.workspaceOf(task.id);
  const branch = git(dir, 'symbolic-ref', '--short', 'HEAD');
  commit(dir, 'mine.txt');
  return { task, dir, branch, page: `/tasks/${task.id}?diff=true` };
}

function commit(dir: string, file: string) {
  writeFileSync(join(dir, file), `${file}\n`);
  git(dir, 'add', '.');
  git(dir, 'commit', '--quiet', '-m', file);
}

/** Adds a commit of another person to a branch at the forge. */
function pushedByOthers(forge: ForgeHost, branch: string): string {
  const { path, remove } = directory();
  git(path, 'clone', '--quiet', '--branch', branch, forge.bare, 'other');
  const other = join(path, 'other');
  commit(other, 'theirs.txt');
  git(other, 'push', '--quiet', 'origin', branch);
  const tip = git(other, 'rev-parse', 'HEAD');
  remove();
  return tip;
}

for (const [device, width, colorScheme] of [
  ['a desktop', 1280, 'light'],
  ['a phone in the dark', 390, 'dark'],
] as const) {
  test.describe(`on ${device}`, () => {
    test.use({ viewport: { width, height: 844 }, colorScheme });
    test('a branch is pushed, and its pull request is opened, kept over a reload and updated', async ({
      bell,
      world,
      guard,
    }) => {
      guard.allow(/502 .*pull-request/);
      test.slow();
      const forge = await openForgeHost(world, `forge of ${device}`);
      const { dir, branch, page } = await committed(world, forge, 'Open the shop');
      await bell.page.goto(page);
      const bar = bell.page.getByRole('region', { name: 'Shipping' });
      await expect(bar).toContainText('1 commit is not pushed');
      await expect(bar.getByRole('button', { name: 'Open pull request' })).toBeDisabled();
      await bar.getByRole('button', { name: 'Push', exact: true }).click();
      await expect(bar).toContainText('Pushed');
      await expect(bar.getByRole('button', { name: 'Push', exact: true })).toBeDisabled();
      expect(git(forge.bare, 'rev-parse', branch)).toBe(git(dir, 'rev-parse', 'HEAD'));

      await bar.getByRole('button', { name: 'Open pull request' }).click();
      const title = bar.getByRole('textbox', { name: 'Title' });
      await expect(title).toHaveValue('Open the shop');
      await bar.getByRole('textbox', { name: 'Description' }).fill('It was closed.');
      await accessible(bell.page, 'a pull request');
      await bar.getByRole('button', { name: 'Open the pull request' }).click();
      const link = bar.getByRole('link', { name: 'Pull request #1' });
      await expect(link).toHaveAttribute('href', /\/ada\/shop\/pulls\/1$/);
      await bell.page.reload();
      await expect(link).toBeVisible();
      await accessible(bell.page, 'a branch with a pull request');
      expect(await bar.evaluate((e) => e.scrollWidth <= e.clientWidth), 'the line fits').toBe(true);

      await bar.getByRole('button', { name: 'Update pull request' }).click();
      await expect(bar.getByRole('textbox', { name: 'Description' })).toHaveValue('It was closed.');
      await title.fill('Open the shop at nine');
      await bar.getByRole('button', { name: 'Update the pull request' }).click();
      await expect(bell.page.getByText('Pull request #1 is updated.')).toBeVisible();

      // The forge is gone: the texts stay, and the error says what to do.
      await forge.stopForge();
      await bar.getByRole('button', { name: 'Update pull request' }).click();
      await title.fill('Open the shop at ten');
      await bar.getByRole('button', { name: 'Update the pull request' }).click();
      await expect(bar.getByRole('alert')).toContainText('The forge cannot be reached');
      await expect(title).toHaveValue('Open the shop at ten');
      await bell.page.close();
      await forge.stop();
    });
  });
}

const menu = (...changed: [number, string][]) =>
  Array.from({ length: 40 }, (_, i) => changed.find(([n]) => n === i + 1)?.[1] ?? `dish ${i + 1}`).join('\r\n');

for (const [device, width] of [
  ['a desktop', 1280],
  ['a phone', 390],
] as const) {
  test.describe(`on ${device}`, () => {
    test.use({ viewport: { width, height: 844 } });
    test('a part of a file is discarded after a question, unless it was changed meanwhile', async ({
      bell,
      world,
      guard,
    }) => {
      guard.allow(/409 .*discard/);
      const host = await openForgeHost(world, `parts on ${device}`, { files: { 'menu.txt': menu() } });
      const task = await world.api.newTask('A part', { hostId: host.id, project: 'shop', agent: 'demo' });
      await world.api.prompt(task.id, 'say hello');
      const file = join(host.workspaceOf(task.id), 'menu.txt');
      writeFileSync(file, menu([2, 'soup'], [35, 'cake']));
      await bell.page.goto(`/tasks/${task.id}?diff=true`);
      const changes = bell.page.getByRole('region', { name: 'Changes in menu.txt' });
      const discard = changes.getByRole('button', { name: 'Discard lines 1 to 5: menu.txt' });
      await expect(changes.getByRole('button', { name: /^Discard/ })).toHaveCount(2);
      await expect(discard).toBeInViewport({ ratio: 1 });
      await accessible(bell.page, 'parts of a file');
      const path = bell.page.locator('h3 bdi', { hasText: 'menu.txt' });
      const ems = (e: Element) => e.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(e).fontSize);
      expect(await path.evaluate(ems), 'the path stands in one line').toBeLessThan(2.5);

      await discard.click();
      const dialog = bell.page.getByRole('dialog', { name: 'Discard this part?' });
      await expect(dialog).toContainText('menu.txt, this part (lines 1 to 5) becomes what it was');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await discard.click();
      writeFileSync(file, menu([2, 'salad'], [35, 'cake']));
      await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
      await expect(bell.page.getByText('Not discarded: ')).toContainText('"menu.txt" changed since the diff');
      await expect(changes).toContainText('salad');
      expect(readFileSync(file, 'utf8')).toBe(menu([2, 'salad'], [35, 'cake']));

      await discard.click();
      await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
      await expect(changes.getByRole('button', { name: /^Discard/ })).toHaveCount(1);
      await expect(changes).not.toContainText('salad');
      await expect(changes).toContainText('cake');
      expect(readFileSync(file, 'utf8')).toBe(menu([35, 'cake']));
      await bell.page.close();
      await host.stop();
    });
  });
}

test('a conflict is handed to the agent, and commits at the remote are replaced only on request', async ({
  bell,
  world,
  guard,
}) => {
  guard.allow(/409 .*push/);
  test.slow();
  const forge = await openForgeHost(world, 'forge with conflicts');
  const { task, dir, branch, page } = await committed(world, forge, 'A conflict');
  pushedByOthers(forge, 'main');
  await bell.page.goto(page);
  const bar = bell.page.getByRole('region', { name: 'Shipping' });
  const push = bar.getByRole('button', { name: 'Push', exact: true });
  await push.click();
  await expect(bar).toContainText('The branch main has new commits at the remote.');
  const theirs = pushedByOthers(forge, branch);
  commit(dir, 'more.txt');
  await bell.page.reload();
  await expect(bar).toContainText('1 commit is not pushed');
  await push.click();
  await expect(bar.getByRole('alert')).toContainText('has other commits');
  await expect(bar).toContainText('The remote has commits in this branch that the workspace has not.');
  await accessible(bell.page, 'a conflict');
  expect(git(forge.bare, 'rev-parse', branch)).toBe(theirs);

  await bar.getByRole('button', { name: 'Ask the agent to merge them' }).click();
  await expect(async () => {
    const { messages } = await world.api.call<{ messages: { role: string; message: string }[] }>(
      'GET',
      `/api/tasks/${task.id}/messages`,
    );
    const asked = messages.filter((m) => m.role === 'USER' && m.message.includes(`git merge origin/${branch}`));
    expect(asked).toHaveLength(1);
  }).toPass();
  await bell.done();

  const replace = bar.getByRole('button', { name: 'Replace them …' });
  await replace.click();
  const dialog = bell.page.getByRole('dialog', { name: 'Replace the commits at the remote?' });
  await expect(dialog).toContainText(theirs.slice(0, 12));
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(git(forge.bare, 'rev-parse', branch)).toBe(theirs);
  await replace.click();
  await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
  await expect(bar).toContainText('Pushed');
  expect(git(forge.bare, 'rev-parse', branch)).toBe(git(dir, 'rev-parse', 'HEAD'));
  await bell.page.close();
  await forge.stop();
});
