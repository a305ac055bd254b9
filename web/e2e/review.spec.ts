import type { Locator, Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import {
  commentForm as form,
  commentOn,
  modified,
  newFiles,
  openChanges,
  showChanges,
  type ChangedFile,
} from './kit/changes.ts';
import { expect, test } from './kit/test.ts';
import { fulfill } from './kit/fulfill.ts';

const greeting = (lines: string): ChangedFile => ({
  path: 'src/greeting.ts',
  patch: modified(
    'src/greeting.ts',
    `@@ -1,3 +1,${lines.split('\n').filter((l) => !l.startsWith('-')).length} @@\n${lines}\n`,
  ),
});
const first = greeting(
  " export function greet(name: string) {\n-  return 'Hello ' + name;\n+  return 'Hello, ' + name;\n }",
);
const notes: ChangedFile = {
  path: 'notes.md',
  status: 'added',
  patch: 'new file mode 100644\n--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1,2 @@\n+# Notes\n+All is well.\n',
};

const devices = [
  { name: 'a desktop', viewport: { width: 1280, height: 800 }, colorScheme: 'light' as const },
  {
    name: 'a phone at night',
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark' as const,
    hasTouch: true,
    isMobile: true,
  },
];

const again = (pane: Locator) => pane.getByRole('button', { name: 'Read the changes again' }).click();

const fitsSideways = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);

for (const { name: device, ...use } of devices) {
  test.describe(`on ${device}`, () => {
    test.use(use);

    test('comments on lines are written, survive a reload and new changes, and are sent as one message', async ({
      bell,
      world,
    }) => {
      test.slow();
      const { page } = bell;
      const task = await world.api.newTask('a review');
      await world.api.prompt(task.id, 'say hello');
      await showChanges(page, [first, notes]);
      await bell.open(task);
      const pane = await openChanges(page);

      await commentOn(pane, 2).click();
      await form(pane).fill('Ask for the name');
      await form(pane).press('Enter');
      await commentOn(pane, 2, 'notes.md').click();
      await form(pane).fill('Say why.');
      await pane.getByRole('button', { name: 'Add comment' }).click();
      await commentOn(pane, 2, 'src/greeting.ts', 'removed ').click();
      await form(pane).fill('half a sen');
      await accessible(page, `comments on ${device}`);
      expect(await fitsSideways(page)).toBe(true);
      await page.reload();

      await expect(form(pane)).toHaveValue('half a sen');
      await expect(pane.getByRole('contentinfo').or(pane.locator('footer'))).toContainText('3 comments, 1 unfinished');
      await form(pane).fill('Why was it removed?');
      await form(pane).press('Enter');

      const one = pane.getByRole('group', { name: 'Comment on line 2', exact: true }).first();
      await one.getByRole('button', { name: 'Edit' }).click();
      await form(pane).fill('Ask for the name first.');
      await pane.getByRole('button', { name: 'Save comment' }).click();

      // The line moves, a line of another comment goes, and so does a whole file.
      await showChanges(page, [
        greeting(
          "+// Greets.\n export function greet(name: string) {\n-  return 'Hi ' + name;\n+  return 'Hello, ' + name;\n }",
        ),
      ]);
      await again(pane);
      await expect(pane.getByText('Written on line 2; the line has moved.')).toBeVisible();
      await expect(pane.getByText('notes.md, line 2: this line is not among the changes any more')).toBeVisible();
      await expect(pane.getByText('this line is not among the changes any more')).toHaveCount(2);
      await expect(pane).toContainText("return 'Hello ' + name;");
      await accessible(page, `comments without a line on ${device}`);
      await page.reload();
      await expect(pane.getByText('this line is not among the changes any more')).toHaveCount(2);

      const gone = pane.getByRole('group', { name: 'Comment on removed line 2', exact: true });
      await gone.getByRole('button', { name: 'Remove' }).click();
      const undo = page.getByRole('button', { name: 'Undo' });
      await undo.hover(); // the message stays while the pointer is on it
      await expect(gone).toBeHidden();
      await undo.click();
      await expect(gone).toContainText('Why was it removed?');

      await pane.getByRole('button', { name: 'Send 3 comments' }).click();
      await expect(pane.locator('[data-comment]')).toHaveCount(0);
      const sent = async () =>
        (await world.api.messages(task.id)).filter((m) => m.role === 'USER').map((m) => m.message);
      await expect
        .poll(sent)
        .toContain(
          [
            '3 comments on your changes:',
            "`src/greeting.ts`, line 2:\n```\n  return 'Hello, ' + name;\n```\nAsk for the name first.",
            "`src/greeting.ts`, removed line 2:\n```\n  return 'Hello ' + name;\n```\nWhy was it removed?",
            '`notes.md`, line 2:\n```\nAll is well.\n```\nSay why.',
          ].join('\n\n'),
        );
      expect((await sent()).length).toBe(2);
      await page.reload();
      await expect(pane.getByRole('region').first()).toBeVisible();
      await expect(pane.locator('[data-comment]')).toHaveCount(0);
    });

    for (const count of [1, 4, 40, 400]) {
      test(`the tree leads to the last of ${count} files, whose header stays in sight`, async ({ bell, world }) => {
        test.slow();
        const { page } = bell;
        const files = newFiles(count, 125);
        await showChanges(page, files);
        await bell.open(await world.api.newTask('a tree'));
        const pane = await openChanges(page);
        await expect(pane.getByRole('region')).toHaveCount(count);
        await pane.getByRole('button', { name: 'File tree' }).click();
        const tree = pane.getByRole('tree', { name: 'Changed files' });
        await expect(tree.getByRole('treeitem', { name: /^file\d+\.ts/ })).toHaveCount(count);
        if (count === 4) await accessible(page, `a file tree on ${device}`);

        await tree.getByRole('treeitem').first().focus();
        await page.keyboard.press('End');
        const item = tree.locator(':focus');
        const name = (await item.locator('bdi').innerText()).trim();
        await page.keyboard.press('Enter');
        const head = pane.getByRole('button', { name: new RegExp(`${name}$`) });
        await expect(head).toBeFocused();
        await expect(head).toBeInViewport();
        // Scroll to the end of the file: its header stays at the top.
        const last = pane.getByText(`// the end of file ${Number(/\d+/.exec(name)?.[0])}`, { exact: true });
        await expect(async () => {
          await last.scrollIntoViewIfNeeded(); // again when files above it are rendered meanwhile
          await expect(last).toBeInViewport({ timeout: 1_000 });
          await expect(head).toBeInViewport({ timeout: 1_000 });
        }).toPass();
        expect(await fitsSideways(page)).toBe(true);
      });
    }
  });
}

test('comments are queued while the agent works, and kept when the broker refuses them', { tag: '@daily' }, async ({
  bell,
  world,
  guard,
}) => {
  guard.allow(/503/);
  const { page } = bell;
  await showChanges(page, [first]);
  const id = await bell.newTask('write hold.txt: a review');
  await expect(bell.dock).toBeVisible();
  const pane = await openChanges(page);
  await commentOn(pane, 2).click();
  await form(pane).fill('Later');
  await form(pane).press('Enter');
  await page.route('**/api/tasks/*/queue', (route) =>
    route.request().method() === 'POST'
      ? fulfill(route, { status: 503, json: { error: 'The database is not available', code: 'unavailable' } })
      : route.fallback(),
  );
  await pane.getByRole('button', { name: 'Send 1 comment' }).click();
  await expect(pane.getByRole('alert')).toContainText('The comments were not sent. They are kept here');
  await expect(pane.getByRole('group', { name: 'Comment on line 2' })).toContainText('Later');
  await page.unroute('**/api/tasks/*/queue');
  await pane.getByRole('button', { name: 'Send 1 comment' }).click();
  await expect(pane.locator('[data-comment]')).toHaveCount(0);
  await expect(page.getByRole('list', { name: 'Queued messages' })).toContainText('src/greeting.ts');
  await expect.poll(async () => (await world.api.task(id)).queue?.messages).toBe(1);
});

test('the keyboard alone reviews: lines by arrows, a comment by Enter, Escape leaves', async ({ bell, world }) => {
  const { page } = bell;
  await showChanges(page, [first]);
  await bell.newTask('write hold.txt: keys'); // the turn is open until its question is answered
  await expect(bell.dock).toBeVisible();
  const pane = await openChanges(page);
  await expect(commentOn(pane, 1)).toBeVisible();
  await pane.getByRole('region', { name: /^Changes in/ }).focus();
  await page.keyboard.press('Tab');
  await expect(commentOn(pane, 1)).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(commentOn(pane, 2, 'src/greeting.ts', 'removed ')).toBeFocused();
  await page.keyboard.press('End');
  await expect(commentOn(pane, 3)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(form(pane)).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(form(pane)).toBeHidden();
  await expect(commentOn(pane, 3)).toBeFocused();
  await page.keyboard.press('Enter');
  await page.keyboard.type('c j / are letters here');
  await page.keyboard.press('Escape');
  await expect(form(pane), 'a text that Escape must not discard').toHaveValue('c j / are letters here');
  await page.keyboard.press('Enter');
  await expect(commentOn(pane, 3)).toBeFocused();
  await expect(pane.getByRole('group', { name: 'Comment on line 3' })).toContainText('c j / are letters here');
  expect((await world.api.task(bell.taskId())).openTurn, 'Escape stopped the agent').not.toBeNull();
});

test('a viewed file folds, stays viewed, and is unviewed when its content changes', async ({ bell, world }) => {
  const { page } = bell;
  await showChanges(page, [first, notes]);
  const task = await world.api.newTask('viewed');
  await bell.open(task);
  const pane = await openChanges(page);
  const viewed = pane.getByRole('checkbox', { name: 'Viewed: src/greeting.ts' });
  const region = pane.getByRole('region', { name: 'Changes in src/greeting.ts' });
  await viewed.check();
  await expect(region).toBeHidden();
  await expect(pane).toContainText('1 of 2 viewed');
  await pane.getByRole('button', { name: 'File tree' }).click();
  await expect(pane.getByRole('treeitem', { name: /^greeting\.ts viewed/ })).toBeVisible();
  await accessible(page, 'a viewed file');

  await page.reload();
  await expect(viewed).toBeChecked();
  await expect(region).toBeHidden();
  await pane.getByRole('button', { name: 'src/greeting.ts' }).click();
  await expect(region).toContainText("'Hello, '");

  await showChanges(page, [
    greeting(" export function greet(name: string) {\n-  return 'Hello ' + name;\n+  return 'Hello! ' + name;\n }"),
    notes,
  ]);
  await again(pane);
  await expect(region).toContainText("'Hello! '");
  await expect(viewed).not.toBeChecked();
  await showChanges(page, [first, notes]);
  await again(pane);
  await expect(viewed).toBeChecked();

  await bell.open(await world.api.newTask('another task'));
  await openChanges(page);
  await expect(viewed, 'the same file of another task').not.toBeChecked();
});

test('code has syntax colours, and changed words are marked', async ({ bell, world }) => {
  const { page } = bell;
  await showChanges(page, [first]);
  await bell.open(await world.api.newTask('colours'));
  const pane = await openChanges(page);
  for (const layout of ['Unified', 'Split']) {
    await pane.getByRole('button', { name: layout }).click();
    const code = pane.getByRole('region');
    await expect(code.locator('.hljs-keyword').filter({ hasText: /^return$/ })).toHaveCount(2);
    await expect(code.locator('.hljs-string[class*="_word_"]')).toHaveText([', ']);
    await accessible(page, `colours, ${layout}`);
  }
});

test('the width is dragged, moved by keys, limited and remembered', async ({ bell, world }) => {
  const { page } = bell;
  await showChanges(page, [first]);
  await bell.open(await world.api.newTask('width'));
  const pane = await openChanges(page);
  const edge = page.getByRole('separator', { name: 'Width of the changes' });
  const width = async () => (await pane.boundingBox())?.width ?? 0;
  const before = await width();
  await edge.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowLeft');
  await expect(edge).toHaveAttribute('aria-valuenow', '60');
  const wider = await width();
  expect(wider).toBeGreaterThan(before + 50);
  await page.reload();
  await expect(edge).toHaveAttribute('aria-valuenow', '60');
  expect(Math.abs((await width()) - wider)).toBeLessThan(2);

  const box = await edge.boundingBox();
  await page.mouse.move((box?.x ?? 0) + 4, 400);
  await page.mouse.down();
  await page.mouse.move((box?.x ?? 0) + 104, 400, { steps: 4 });
  await page.mouse.up();
  await expect.poll(async () => Math.abs((await width()) - (wider - 100))).toBeLessThan(12);
  await page.mouse.move(900, 300);
  expect(Math.abs((await width()) - (wider - 100)), 'it moved after the button was released').toBeLessThan(12);
  await edge.focus();
  await page.keyboard.press('End');
  await expect(edge).toHaveAttribute('aria-valuenow', '75');
  await page.keyboard.press('ArrowLeft');
  await expect(edge).toHaveAttribute('aria-valuenow', '75');
  await expect(bell.message, 'the conversation keeps room').toBeInViewport();
});

const bidi = 'evil\u202egnp.exe';
const hostile: ChangedFile[] = [
  {
    path: '<script>document.title="owned"</script>.html',
    patch: modified(
      '<script>document.title="owned"</script>.html',
      '@@ -1 +1 @@\n-<b>old</b>\n+<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>\n',
    ),
  },
  {
    path: bidi,
    status: 'added',
    patch: `--- /dev/null\n+++ b/${bidi}\n@@ -0,0 +1 @@\n+if (admin\u202e \u2066// check\u2069 \u2066) {\n`,
  },
  {
    path: '"tab\\tquote\\".txt"',
    quoted: '"a/tab\\tquote\\".txt" "b/tab\\tquote\\".txt"',
    patch: '--- "a/tab\\tquote\\".txt"\n+++ "b/tab\\tquote\\".txt"\n@@ -1 +1 @@\n-a tab\n+a tab and a quote\n',
  },
  {
    path: 'long.js',
    patch: modified('long.js', `@@ -1 +1 @@\n-var x="${'a '.repeat(300_000)}"\n+var x="${'b '.repeat(300_000)}"\n`),
  },
  {
    path: 'logo.png',
    binary: true,
    patch: 'index 1111111..2222222 100644\nBinary files a/logo.png and b/logo.png differ\n',
  },
  {
    path: 'new name.txt',
    oldPath: 'old name.txt',
    status: 'renamed',
    patch: 'similarity index 100%\nrename from old name.txt\nrename to new name.txt\n',
  },
  {
    path: 'gone.txt',
    status: 'deleted',
    patch:
      'deleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-farewell\n\\ No newline at end of file\n',
  },
  { path: `${'deep/'.repeat(60)}${'n'.repeat(200)}.txt`, status: 'added', patch: 'new file mode 100644\n' },
  { path: 'a.constructor', patch: modified('a.constructor', '@@ broken\n@@ -1 +1 @@\n-x\n+y\n') },
];

for (const { name: device, ...use } of devices) {
  test.describe(`hostile changes on ${device}`, () => {
    test.use(use);

    test('are text, and every file is reviewed like any other', async ({ bell, world }) => {
      test.slow();
      const { page } = bell;
      await showChanges(page, hostile);
      const task = await world.api.newTask('hostile');
      await bell.open(task);
      const pane = await openChanges(page);
      await pane.getByRole('button', { name: 'File tree' }).click();
      await expect(pane.getByRole('heading', { level: 3 })).toHaveCount(hostile.length);
      await expect(pane.getByRole('heading', { name: 'evil\\u202egnp.exe' })).toBeVisible();
      await expect(pane.getByRole('treeitem', { name: 'evil\\u202egnp.exe' })).toHaveCount(1);
      await expect(pane.getByRole('heading', { name: '"tab\\tquote\\".txt"' })).toHaveCount(1);
      await expect(pane.getByRole('region', { name: 'Changes in "tab\\tquote\\".txt"' })).toContainText('and a quote');
      await expect(pane.getByRole('heading', { name: 'old name.txt → new name.txt' })).toHaveCount(1);
      await expect(pane.getByText('A binary file.')).toHaveCount(1);
      await expect(pane.getByText('no line break at the end of the file')).toHaveCount(1);
      await expect(pane.getByRole('region', { name: /script/ })).toContainText('<img src=x onerror=');
      expect(await pane.innerText()).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
      expect(await pane.locator('script, img, iframe, [onerror]').count()).toBe(0);
      expect(await page.title()).not.toBe('owned');
      expect(await fitsSideways(page)).toBe(true);
      await accessible(page, `hostile changes on ${device}`);

      for (const box of await pane.getByRole('checkbox').all()) await box.check();
      await expect(pane.getByRole('region')).toHaveCount(0);
      await page.reload();
      await expect(pane.getByRole('checkbox').first()).toBeChecked();
      for (const box of await pane.getByRole('checkbox').all()) await expect(box).toBeChecked();
      await pane.getByRole('checkbox').nth(1).uncheck();
      await commentOn(pane, 1, 'evil\\u202egnp.exe').click();
      await form(pane).fill('Rename it');
      await form(pane).press('Enter');
      await pane.getByRole('button', { name: 'Send 1 comment' }).click();
      await expect(pane.locator('[data-comment]')).toHaveCount(0);
      await expect
        .poll(async () => (await world.api.messages(task.id)).map((m) => m.message).join('\n'))
        .toContain('"evil\\u202egnp.exe", line 1:');
    });
  });
}
