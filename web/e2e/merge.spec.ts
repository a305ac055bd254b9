import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible } from './kit/axe.ts';
import { directory } from './kit/program.ts';
import { expect, test } from './kit/test.ts';
import { git, openForgeHost, type ForgeHost, type World } from './kit/world.ts';

/** A task of the agent that merges, with a commit of its own. */
async function begun(world: World, forge: ForgeHost, title: string) {
  const task = await world.api.newTask(title, { hostId: forge.id, project: 'shop', agent: 'merger' });
  await world.api.prompt(task.id, 'write menu.txt: soup of mine');
  await expect.poll(async () => (await world.api.task(task.id)).lastTurn).toBeTruthy(); // it is not open at first
  const dir = forge.workspaceOf(task.id);
  return { id: task.id, dir, branch: git(dir, 'symbolic-ref', '--short', 'HEAD'), page: `/tasks/${task.id}?diff=true` };
}

const idle = (world: World, id: string) => expect.poll(async () => (await world.api.task(id)).openTurn).toBeNull();

/** Another person changes the same line in the project's branch. Returns the commit. */
function changedByOthers(forge: ForgeHost): string {
  const { path, remove } = directory();
  git(path, 'clone', '--quiet', forge.bare, 'other');
  const other = join(path, 'other');
  writeFileSync(join(other, 'menu.txt'), 'soup of theirs\n');
  git(other, 'commit', '--quiet', '--all', '-m', 'theirs');
  git(other, 'push', '--quiet', 'origin', 'main');
  const tip = git(other, 'rev-parse', 'HEAD');
  remove();
  return tip;
}

for (const [device, width] of [
  ['a desktop', 1280],
  ['a phone', 390],
] as const) {
  test.describe(`on ${device}`, () => {
    test.use({ viewport: { width, height: 844 } });

    test('a conflict is queued for a busy agent, which merges without the remote, and is pushed', async ({
      bell,
      world,
    }) => {
      test.slow();
      const forge = await openForgeHost(world, `merges of ${device}`, {
        files: { 'menu.txt': 'bread\n' },
        merger: true,
      });
      const { id, dir, branch, page } = await begun(world, forge, 'A menu');
      await bell.page.goto(page);
      const bar = bell.page.getByRole('region', { name: 'Shipping' });
      const look = bar.getByRole('button', { name: 'Look for new commits at the remote' });
      await look.click();
      await expect(bell.page.getByText('The remote has no commits that the branch has not.')).toBeVisible();
      const theirs = changedByOthers(forge);
      await look.click();
      await expect(bar).toContainText('The branch main has new commits at the remote.');
      await accessible(bell.page, 'a branch that is behind');

      await world.api.prompt(id, 'hold');
      await expect(bar.getByRole('button', { name: 'Push', exact: true })).toBeDisabled();
      await bar.getByRole('button', { name: 'Ask the agent to merge them' }).click();
      await expect(bell.page.getByText('The agent is asked to merge.')).toBeVisible();
      await expect.poll(async () => (await world.api.task(id)).queue?.messages).toBe(1);
      expect(git(dir, 'rev-parse', 'origin/main'), 'the commits are there while the agent works').toBe(theirs);
      const away = `${forge.bare}.away`;
      renameSync(forge.bare, away);
      writeFileSync(join(dir, 'go'), '');
      await expect(bar).not.toContainText('new commits at the remote');
      await idle(world, id);
      expect(await world.api.answer(id)).toContain('Merged origin/main and resolved menu.txt.');
      renameSync(away, forge.bare);

      await bar.getByRole('button', { name: 'Push', exact: true }).click();
      await expect(bar).toContainText('Pushed');
      expect(git(forge.bare, 'show', `${branch}:menu.txt`)).toBe('soup of mine\nsoup of theirs');
      git(forge.bare, 'merge-base', '--is-ancestor', theirs, branch);
      await bell.page.close();
      await forge.stop();
    });

    test('the agent drafts a pull request, and the form keeps what the user wrote', async ({ bell, world }) => {
      test.slow();
      const forge = await openForgeHost(world, `drafts of ${device}`, {
        files: { 'menu.txt': 'bread\n' },
        merger: true,
      });
      const { id, dir, page } = await begun(world, forge, 'A menu');
      await bell.page.goto(page);
      const bar = bell.page.getByRole('region', { name: 'Shipping' });
      await bar.getByRole('button', { name: 'Push', exact: true }).click();
      await bar.getByRole('button', { name: 'Open pull request' }).click();
      const title = bar.getByRole('textbox', { name: 'Title' });
      const text = bar.getByRole('textbox', { name: 'Description' });
      const ask = bar.getByRole('button', { name: 'Ask the agent for the texts' });
      await expect(title).toHaveValue('A menu');

      writeFileSync(join(dir, 'fail'), '');
      await ask.click();
      await expect(bar.getByRole('status').filter({ hasText: 'The agent gave no draft' })).toBeVisible();
      await expect(title).toHaveValue('A menu');
      await expect(text).toHaveValue('');
      rmSync(join(dir, 'fail'));

      writeFileSync(join(dir, 'hold'), '');
      await ask.click();
      await expect(bar).toContainText('The agent writes a draft …');
      await title.fill('My own title');
      writeFileSync(join(dir, 'go'), '');
      const take = bar.getByRole('button', { name: 'Take the draft' });
      await expect(take).toBeVisible({ timeout: 30_000 });
      await expect(title).toHaveValue('My own title');
      await accessible(bell.page, 'a draft that waits');
      await take.click();
      await expect(title).toHaveValue('Serve soup');
      await expect(text).toHaveValue('The menu had **none**.');
      rmSync(join(dir, 'hold'));

      await title.fill('');
      await text.fill('');
      await ask.click();
      await expect(title).toHaveValue('Serve soup');
      await text.fill('The menu had none.');
      await idle(world, id);
      await bar.getByRole('button', { name: 'Open the pull request' }).click();
      await expect(bar.getByRole('link', { name: 'Pull request #1' })).toBeVisible();
      await bar.getByRole('button', { name: 'Update pull request' }).click();
      await expect(title).toHaveValue('Serve soup');
      await expect(text).toHaveValue('The menu had none.');
      await bell.page.close();
      await forge.stop();
    });
  });
}
