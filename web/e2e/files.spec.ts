import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import { git, workspaceOf, type World } from './kit/world.ts';
import { fulfill } from './kit/fulfill.ts';

/** A picture of 2 by 1 pixels. */
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
);
const hostile = '<img src=x onerror=alert(1)>\u202egnp.exe';

/** A task whose workspace has files of all kinds. */
async function workspace(world: World, title: string) {
  const task = await world.api.newTask(title);
  await world.api.prompt(task.id, 'say hello');
  await expect.poll(async () => (await world.api.task(task.id)).lastTurn).toBeTruthy(); // it is not open at first
  const dir = workspaceOf(world, task.id);
  mkdirSync(join(dir, 'src', 'deep'), { recursive: true });
  mkdirSync(join(dir, 'many'));
  writeFileSync(join(dir, 'src', 'deep', 'greet.ts'), "export const greet = 'hello'; // a needle\n");
  writeFileSync(join(dir, 'picture.png'), picture);
  writeFileSync(join(dir, 'drawing.svg'), '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>\n');
  writeFileSync(join(dir, 'data.bin'), Buffer.from([1, 0, 2]));
  writeFileSync(join(dir, 'empty.txt'), '');
  writeFileSync(join(dir, hostile), '<script>alert(1)</script>\u202e\n');
  const lines = Array.from({ length: 20_000 }, (_, i) => `line number ${i + 1} of a long file`);
  writeFileSync(join(dir, 'long.txt'), `${lines.join('\n')}\nthe last needle\n`);
  for (let i = 0; i < 600; i++) writeFileSync(join(dir, 'many', `${String(i).padStart(4, '0')}.txt`), 'x\n');
  writeFileSync(join(dir, '.gitignore'), 'ignored.log\n');
  writeFileSync(join(dir, 'ignored.log'), 'a needle that git ignores\n');
  symlinkSync('/etc/passwd', join(dir, 'link'));
  return { task, dir };
}

const pane = (page: Page) => page.getByRole('complementary', { name: 'Files' });
const entry = (page: Page, name: string | RegExp) => pane(page).getByRole('treeitem', { name, exact: true });
const content = (page: Page, name: string) => pane(page).getByRole('region', { name: `Content of ${name}` });

for (const [device, use] of [
  ['a desktop', { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }],
  [
    'a phone in the dark',
    { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true },
  ],
] as const) {
  test.describe(`on ${device}`, () => {
    test.use(use);

    test('files are found in the tree and by search, and are shown', async ({ bell, world, guard }) => {
      guard.allow(/400 .*search/);
      test.slow();
      const { page } = bell;
      const { task } = await workspace(world, `files on ${device}`);
      await bell.open(task);
      await page.getByRole('button', { name: 'Files', exact: true }).click();
      await expect(entry(page, /^ignored\.log/)).toContainText('ignored');
      await accessible(page, `the tree on ${device}`);
      await pane(page).getByRole('button', { name: 'Show ignored files' }).click();
      await expect(entry(page, /^ignored\.log/)).toBeHidden();

      // A directory of 600 files is shown in pages.
      await entry(page, 'many').click();
      await expect(entry(page, /^0499\.txt/)).toBeAttached();
      await expect(entry(page, /^0500\.txt/)).toBeHidden();
      await entry(page, /^Show more of 600/).click();
      await expect(entry(page, /^0599\.txt/)).toBeAttached();
      await entry(page, 'many').click();

      await entry(page, 'src').click();
      await entry(page, 'deep').click();
      await entry(page, /^greet\.ts/).click();
      const code = content(page, 'src/deep/greet.ts');
      await expect(code).toContainText("export const greet = 'hello'; // a needle");
      await expect(code.locator('.hljs-keyword').first()).toHaveText('export');
      await accessible(page, `a file on ${device}`);
      await page.reload();
      await expect(code).toContainText('a needle');
      await expect(entry(page, /^greet\.ts/)).toHaveAttribute('aria-selected', 'true');
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'fits').toBe(true);

      await entry(page, /^picture\.png/).click();
      const image = pane(page).getByRole('img', { name: 'picture.png' });
      await expect.poll(() => image.evaluate((i: HTMLImageElement) => i.naturalWidth)).toBe(2);
      await entry(page, /^drawing\.svg/).click();
      await expect(content(page, 'drawing.svg')).toContainText('<script>alert(1)</script>');
      await entry(page, /^data\.bin/).click();
      await expect(pane(page)).toContainText('It has 3 bytes, and is no text.');
      await entry(page, /^empty\.txt/).click();
      await expect(pane(page)).toContainText('An empty file');
      await expect(entry(page, /^link/)).toContainText('→ /etc/passwd');
      await entry(page, /^<img src=x/).click();
      await expect(
        pane(page).getByRole('region', { name: /^Content of <img src=x onerror=alert\(1\)>\\u202e/ }),
      ).toContainText('<script>alert(1)</script>�');

      // A search for a text leads to a line that is not loaded yet.
      const field = pane(page).getByRole('searchbox', { name: 'Search files' });
      await pane(page).getByRole('combobox', { name: 'Search in' }).selectOption('Texts');
      await field.fill('Needle');
      await field.press('Enter');
      await expect(pane(page).getByRole('status').filter({ hasText: 'searched' })).toContainText('2 lines');
      await accessible(page, `a search on ${device}`);
      await pane(page).getByRole('button', { name: '20001 the last needle' }).click();
      await expect(content(page, 'long.txt').getByText('the last needle')).toBeInViewport();
      await expect(page).toHaveURL(/line=20001/);
      await pane(page).getByRole('button', { name: 'Regular expression' }).click();
      await field.fill('needle(');
      await field.press('Enter');
      await expect(pane(page).getByRole('alert')).toContainText('missing closing )');
      await pane(page).getByRole('combobox', { name: 'Search in' }).selectOption('Names');
      await field.fill('grt');
      await pane(page).getByRole('button', { name: 'src/deep/greet.ts' }).click();
      await expect(code).toBeVisible();
    });
  });
}

test('the tree is used with the keyboard, and a path is copied', { tag: '@daily' }, async ({
  bell,
  world,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { page } = bell;
  const { task } = await workspace(world, 'keys');
  await page.goto(`/tasks/${task.id}?files=true`);
  await expect(entry(page, 'src')).toBeVisible();
  await entry(page, 'many').focus();
  await page.keyboard.press('ArrowDown');
  await expect(entry(page, 'src')).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await expect(entry(page, 'deep')).toBeVisible();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await expect(entry(page, /^greet\.ts/)).toBeVisible();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await expect(content(page, 'src/deep/greet.ts')).toContainText('hello');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await expect(entry(page, /^greet\.ts/)).toBeHidden();
  await pane(page).getByRole('button', { name: 'Copy the path' }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('src/deep/greet.ts');
});

test('files that are gone, a task without a workspace and a broker that fails say so', async ({
  bell,
  world,
  guard,
}) => {
  guard.allow(/40[0-9]|410|502/);
  const { page } = bell;
  const { task, dir } = await workspace(world, 'errors');
  await page.goto(`/tasks/${task.id}?files=true&file=gone.txt`);
  await expect(pane(page).getByRole('alert')).toContainText('does not exist any more');
  writeFileSync(join(dir, 'gone.txt'), 'it is back\n');
  await pane(page).getByRole('alert').getByRole('button', { name: 'Retry' }).click();
  await expect(content(page, 'gone.txt')).toContainText('it is back');
  await page.goto(`/tasks/${task.id}?files=true&file=${encodeURIComponent('../../journal.db')}`);
  await expect(pane(page).getByRole('alert')).toContainText('not the path of a file in the workspace');

  const early = await world.api.newTask('nothing yet');
  await page.goto(`/tasks/${early.id}?files=true`);
  await expect(pane(page).getByRole('alert')).toContainText('no workspace yet');

  await page.route('**/files?**', (route) =>
    fulfill(route, { status: 502, json: { error: 'Failed to connect to agent server', code: 'bad_gateway' } }),
  );
  await page.goto(`/tasks/${task.id}?files=true`);
  await expect(pane(page).getByRole('alert')).toContainText('Failed to connect to agent server');
  expect(git(dir, 'status', '--short')).toContain('gone.txt'); // showing files has changed nothing
});
