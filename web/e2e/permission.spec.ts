import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from './kit/test.ts';
import { workspaceOf, type World } from './kit/world.ts';

/** Returns the content of a file in the task's workspace, undefined if it does not exist. */
function written(world: World, taskId: string, name: string): string | undefined {
  const path = join(workspaceOf(world, taskId), name);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

test('typing never answers a permission; Ctrl+Enter allows it while typing', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  const id = await bell.newTask('slow 8 then write typed.txt: by keyboard');
  await bell.message.click();
  // The user is typing when the question comes, and goes on.
  for (let i = 0; !(await bell.allow.isVisible()); i++) await bell.page.keyboard.type(`and ${i} `);
  await expect(bell.message).toBeFocused();
  await bell.page.keyboard.type(' yes y n 1 2 allow');
  for (const key of [
    'Space',
    'Space',
    'Enter',
    'y',
    'Enter',
    'Space',
    'Backspace',
    'Tab',
    'Shift+Tab',
    'Shift+Enter',
    'a',
    'Delete',
    'ArrowDown',
  ])
    await bell.page.keyboard.press(key);
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.type('  after it is armed  ');
  await bell.page.keyboard.press('Enter');
  await bell.page.keyboard.press('Space');
  await expect(bell.allow).toBeVisible();
  expect(await world.api.interactions(id)).toHaveLength(1);
  expect(written(world, id, 'typed.txt')).toBeUndefined();

  // The messages that Enter sent meanwhile wait in the queue; this test ignores them.
  const queue = bell.page.getByRole('list', { name: 'Queued messages' });
  const waiting = queue.getByRole('button', { name: 'Remove queued message' });
  for (let n = 3; n > 0; n--) {
    await expect(waiting).toHaveCount(n);
    await waiting.first().click();
  }
  await expect(queue).toBeHidden();
  await bell.message.fill('still typing');
  await bell.page.keyboard.press('Control+Enter');
  await expect(bell.dock).toBeHidden();
  await bell.done();
  await expect(bell.message).toHaveValue('still typing');
  await expect(bell.thread).toContainText('Wrote 11 bytes to typed.txt');
  expect(written(world, id, 'typed.txt')).toContain('by keyboard');
});

test('Ctrl+Shift+Backspace denies, and nothing is written', { tag: ['@core', '@daily'] }, async ({ bell, world }) => {
  const id = await bell.newTask('write denied.txt: no');
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.press('Control+Shift+Backspace');
  await expect(bell.dock).toBeHidden();
  await bell.done();
  await expect(bell.thread).toContainText(/denied/i);
  expect(written(world, id, 'denied.txt')).toBeUndefined();
});

test('a reason reaches the agent', async ({ bell }) => {
  await bell.newTask('run rm -r everything');
  await expect(bell.dock).toContainText('rm -r everything');
  await bell.dock.getByRole('button', { name: 'Deny with reason' }).click();
  await bell.page.keyboard.type('there is a backup rule');
  await bell.page.keyboard.press('Enter');
  await bell.done();
  await expect(bell.thread).toContainText('there is a backup rule');
});

test('allowed for the session, a tool does not ask again', { tag: ['@core', '@daily'] }, async ({ bell }) => {
  await bell.newTask('write one.txt: 1');
  await bell.dock.getByRole('button', { name: 'Allow for this session' }).click();
  await bell.done();
  await bell.send('write two.txt: 2');
  await expect(bell.thread.getByRole('article')).toHaveCount(2);
  await bell.done();
  await expect(bell.dock).toBeHidden();
});

test('an open permission survives a reload, shows in the title, and is answered in the inbox', {
  tag: '@daily',
}, async ({ bell, world }) => {
  const id = await bell.newTask('write inbox.txt: from the inbox');
  await expect(bell.allow).toBeEnabled();
  await bell.page.reload();
  await expect(bell.allow).toBeEnabled();
  await expect(bell.page).toHaveTitle(/Needs you/);
  await bell.page.getByRole('link', { name: /Inbox/ }).click();
  const mine = bell.page.getByRole('listitem').filter({ has: bell.page.getByRole('link', { name: /inbox\.txt/ }) });
  await mine.getByRole('button', { name: 'Allow once' }).click();
  await expect.poll(async () => (await world.api.task(id)).openTurn).toBeNull();
  expect(written(world, id, 'inbox.txt')).toContain('from the inbox');
});

test('in the inbox a key answers the card that shows it, and none that is off screen', async ({ bell, world }) => {
  const { page } = bell;
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    const task = await world.api.newTask(`card ${n}`);
    await world.api.prompt(task.id, `write card${n}.txt: ${n}`);
    await expect.poll(async () => (await world.api.interactions(task.id)).length).toBe(1);
    ids.push(task.id);
  }
  await page.setViewportSize({ width: 1000, height: 480 });
  await page.goto('/inbox');
  const cards = page.locator('main').getByRole('listitem');
  const card = (n: number) => cards.filter({ hasText: `card ${n}` });
  const deny = (n: number) => card(n).getByRole('button', { name: /^Deny( Ctrl|$)/ });
  const withKeys = cards.filter({ has: page.locator('kbd') });
  await expect(deny(4)).toBeEnabled();
  await deny(4).focus();
  await expect(withKeys).toHaveCount(1);
  await expect(withKeys).toContainText('card 4');
  await page.locator('main').evaluate((main) => main.scrollTo({ top: 0, behavior: 'instant' }));
  await expect(withKeys).toHaveCount(0);
  await page.keyboard.press('Control+Shift+Backspace');
  await deny(4).scrollIntoViewIfNeeded();
  await expect(withKeys).toContainText('card 4');
  await expect(async () => {
    await page.keyboard.press('Control+Shift+Backspace'); // ignored until it is aimed
    await expect(card(4)).toBeHidden({ timeout: 1000 });
  }).toPass();
  await expect.poll(async () => (await world.api.interactions(ids[4] ?? '')).length).toBe(0);
  for (const id of ids.slice(0, 4)) expect(await world.api.interactions(id)).toHaveLength(1);
});

test('stopping removes the question', async ({ bell, world }) => {
  const id = await bell.newTask('write stopped.txt: never');
  await expect(bell.dock).toBeVisible();
  await bell.stop.click();
  await expect(bell.dock).toBeHidden();
  await bell.done();
  expect(await world.api.interactions(id)).toEqual([]);
  expect(written(world, id, 'stopped.txt')).toBeUndefined();
});
