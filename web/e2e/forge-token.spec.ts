import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import { forgeToken, git, openForgeHost } from './kit/world.ts';

for (const [device, width, colorScheme] of [
  ['a desktop', 1280, 'light'],
  ['a phone in the dark', 390, 'dark'],
] as const) {
  test.describe(`on ${device}`, () => {
    test.use({ viewport: { width, height: 844 }, colorScheme });

    test('pushes and pull requests use the own token of the user until it is removed', async ({
      bell,
      world,
      guard,
    }) => {
      test.slow();
      guard.allow(/502 .*push/);
      const forge = await openForgeHost(world, `token on ${device}`, { merger: true, hostToken: 'expired' });
      const task = await world.api.newTask('A menu', { hostId: forge.id, project: 'shop', agent: 'merger' });
      await world.api.prompt(task.id, 'write menu.txt: soup');
      const idle = () => expect.poll(async () => (await world.api.task(task.id)).openTurn).toBeNull();
      await expect.poll(async () => (await world.api.task(task.id)).lastTurn).toBeTruthy(); // it is not open at first
      const dir = forge.workspaceOf(task.id);
      const { page } = bell;
      const bar = page.getByRole('region', { name: 'Shipping' });
      const push = bar.getByRole('button', { name: 'Push', exact: true });
      await page.goto(`/tasks/${task.id}?diff=true`);
      await push.click();
      await expect(bar.getByRole('alert')).toContainText('The remote refused the credentials of the agent host');

      const store = async (token: string) => {
        await page.goto('/settings');
        await page.getByRole('textbox', { name: 'Forge', exact: true }).fill(forge.forge);
        await page.getByLabel('Kind').selectOption('gitea');
        await page.getByLabel('Token', { exact: true }).fill(token);
        await page.getByRole('button', { name: 'Store token' }).click();
        await expect(page.getByText(`Your token for ${forge.forge} is stored.`)).toBeVisible();
        await expect(page.getByLabel('Token', { exact: true })).toHaveValue('');
      };
      await store('wrong-token-of-tests');
      const row = page.getByRole('table', { name: 'Tokens for forges' }).getByRole('row', { name: forge.forge });
      await expect(row).toContainText('never');
      await accessible(page, 'tokens for forges');
      await page.goto(`/tasks/${task.id}?diff=true`);
      await push.click();
      await expect(bar.getByRole('alert')).toContainText('The remote refused your own token');

      await store(forgeToken);
      await expect(row).toHaveCount(1);
      expect(await page.content(), 'the token is not in the page').not.toContain(forgeToken);
      await page.goto(`/tasks/${task.id}?diff=true`);
      await push.click();
      await expect(bar).toContainText('Pushed');
      expect(git(forge.bare, 'show', `${git(dir, 'symbolic-ref', '--short', 'HEAD')}:menu.txt`)).toBe('soup');
      await bar.getByRole('button', { name: 'Open pull request' }).click();
      await bar.getByRole('button', { name: 'Open the pull request' }).click();
      await expect(bar.getByRole('link', { name: 'Pull request #1' })).toBeVisible();

      await page.goto('/settings');
      await expect(row).not.toContainText('never');
      await row.getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove token' }).click();
      await expect(row).toHaveCount(0);
      await world.api.prompt(task.id, 'write menu.txt: bread');
      await idle();
      await page.goto(`/tasks/${task.id}?diff=true`);
      await push.click();
      await expect(bar.getByRole('alert')).toContainText('The remote refused the credentials of the agent host');
      await page.close();
      await forge.stop();
    });
  });
}
