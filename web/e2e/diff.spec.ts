import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import { shoot } from './kit/tour.ts';
import { workspaceOf } from './kit/world.ts';

test('the changes of a turn are shown by file, with counts, unified and split', { tag: '@daily' }, async ({ bell }) => {
  await bell.newTask('write lobby.md: # Lobby\n\nOpen day and night.\nKeys are at the desk.');
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.press('Control+Enter');
  await bell.done();

  await bell.page.getByRole('button', { name: 'Changes', exact: true }).click();
  const panel = bell.page.getByRole('complementary', { name: 'Changes' });
  await expect(panel).toContainText('lobby.md');
  await expect(panel.getByRole('region', { name: 'Changes in lobby.md' })).toContainText('Keys are at the desk.');
  await expect(panel).toContainText('+4 lines added');
  await panel.getByRole('button', { name: 'Split' }).click();
  await expect(panel.getByRole('region', { name: 'Changes in lobby.md' })).toContainText('Keys are at the desk.');
  await accessible(bell.page, 'changes');
  await shoot(bell.page, 'diff');
  await bell.page.reload();
  await expect(panel.getByRole('button', { name: 'Split' })).toHaveAttribute('aria-pressed', 'true');
});

test('changes are committed with a message that the agent drafted and the user changed', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  const task = await world.api.newTask('a commit');
  await world.api.prompt(task.id, 'say hello');
  const dir = workspaceOf(world, task.id);
  writeFiles(dir, 2);
  await bell.page.goto(`/tasks/${task.id}`);
  await expect(bell.page.getByRole('list', { name: 'State of the task' })).toContainText('2 files +250 −0');
  await bell.page.getByRole('button', { name: 'Changes', exact: true }).click();
  const bar = bell.page.getByRole('region', { name: 'Shipping', exact: true });
  await expect(bar).toContainText('main');
  await expect(bar).toContainText('Uncommitted changes');
  await bar.getByRole('button', { name: 'Commit', exact: true }).click();
  const message = bar.getByRole('textbox', { name: 'Commit message' });
  await expect(bar.getByRole('button', { name: 'Commit all changes' })).toBeDisabled();
  await bar.getByRole('button', { name: 'Ask the agent for a message' }).click();
  await expect(message).not.toHaveValue('');
  await accessible(bell.page, 'a commit');
  await message.fill('Write many files\n\nThey are a test.\n');
  await bar.getByRole('button', { name: 'Commit all changes' }).click();

  await expect(bar).toContainText('Everything is committed');
  await expect(bar.getByRole('button', { name: 'Commit', exact: true })).toBeDisabled();
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', ...args], { cwd: dir, encoding: 'utf8' }).trim();
  expect(git('log', '-1', '--format=%ae, %cn: %B')).toBe(
    `${world.email}, Bellhop: Write many files\n\nThey are a test.`,
  );
  expect(git('status', '--porcelain')).toBe('');
  expect(git('show', '--format=', '--name-only', 'HEAD')).toBe('many/0001.txt\nmany/0002.txt');
});

test('the changes of a file are discarded after a question', { tag: '@daily' }, async ({ bell, world }) => {
  const task = await world.api.newTask('a discard');
  await world.api.prompt(task.id, 'say hello');
  const dir = workspaceOf(world, task.id);
  writeFiles(dir, 2);
  await bell.page.goto(`/tasks/${task.id}?diff=true`);
  const panel = bell.page.getByRole('complementary', { name: 'Changes' });
  const discard = panel.getByRole('button', { name: 'Discard: many/0001.txt' });
  await discard.click();
  const dialog = bell.page.getByRole('dialog', { name: 'Discard the changes?' });
  await expect(dialog).toContainText('many/0001.txt is removed');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(panel.getByRole('region', { name: /^Changes in/ })).toHaveCount(2);
  await discard.click();
  await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
  await expect(panel.getByRole('region', { name: /^Changes in/ })).toHaveCount(1);
  expect(readdirSync(join(dir, 'many'))).toEqual(['0002.txt']);
});

const linesOfAFile = 125;

/** Writes new files of 125 lines, as programs of the agent do; the last line of each names it. */
function writeFiles(dir: string, count: number): void {
  const { uid, gid } = statSync(dir);
  mkdirSync(join(dir, 'many'), { recursive: true });
  chownSync(join(dir, 'many'), uid, gid);
  for (let i = 1; i <= count; i++) {
    const lines = Array.from({ length: linesOfAFile - 1 }, (_, n) => `line ${n + 1}`);
    writeFileSync(
      join(dir, 'many', `${String(i).padStart(4, '0')}.txt`),
      [...lines, `the end of file ${i}`, ''].join('\n'),
    );
  }
}

for (const device of [
  { name: 'a desktop', viewport: { width: 1280, height: 800 } },
  { name: 'a phone', viewport: { width: 390, height: 844 } },
]) {
  test.describe(`on ${device.name}`, () => {
    test.use({ viewport: device.viewport });
    for (const count of [1, 4, 40, 400]) {
      test(`the last line of ${count} changed files can be reached`, {
        tag: count === 40 && device.name === 'a desktop' ? '@core' : [],
      }, async ({ bell, world }) => {
        test.slow();
        const task = await world.api.newTask('say hello');
        await world.api.prompt(task.id, 'say hello');
        writeFiles(workspaceOf(world, task.id), count);
        await bell.page.goto(`/tasks/${task.id}`);
        await bell.page.getByRole('button', { name: 'Changes', exact: true }).click();
        const panel = bell.page.getByRole('complementary', { name: 'Changes' });
        await expect(panel).toContainText(`+${count * linesOfAFile} lines added`);
        await expect(panel.getByRole('region', { name: /^Changes in/ })).toHaveCount(count);

        const first = panel.getByRole('region', { name: /^Changes in/ }).first();
        await expect(first).toContainText('the end of file 1');
        const height = await first.evaluate((e) => e.getBoundingClientRect().height);
        expect(height, 'a file is shown whole').toBeGreaterThan(linesOfAFile * 15);

        const last = panel.getByText(`the end of file ${count}`, { exact: true });
        await panel.hover();
        await expect(async () => {
          await bell.page.mouse.wheel(0, 100_000_000);
          await expect(last).toBeInViewport({ timeout: 1_000 });
        }).toPass();
      });
    }
  });
}
