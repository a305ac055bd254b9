import type { Console } from './kit/console.ts';
import { expect, test } from './kit/test.ts';

/** Shows a tab, and waits until the text is drawn: what is not drawn has no inner text, as in a tab behind another. */
async function bringToFront({ page, thread }: Console, text: string): Promise<void> {
  await page.bringToFront();
  await expect.poll(() => thread.getByRole('article').last().innerText()).toContain(text);
}

test('two tabs show the same turn, the same question, and its answer', { tag: '@daily' }, async ({ bell, tab }) => {
  const id = await bell.newTask('slow 12 then write tabs.txt: both');
  const other = await tab();
  await other.open(id);
  await expect(bell.allow).toBeEnabled();
  await expect(other.allow).toBeEnabled();
  await other.allow.click();
  await expect(bell.dock).toBeHidden();
  await expect(other.dock).toBeHidden();
  await bell.done();
  await other.done();
  for (const one of [bell, other]) await expect(one.thread).toContainText('1 file changed'); // comes after the answer
  // Each tab measures the duration of a tool itself; everything else is the same.
  const untimed = async (one: Console) => (await one.answer()).replace(/^\d+ s$\n/gm, '');
  await bringToFront(bell, 'tabs.txt');
  const answer = await untimed(bell);
  await bringToFront(other, 'tabs.txt');
  await expect.poll(() => untimed(other)).toBe(answer);
});

test('a message sent in one tab appears in the other, once', async ({ bell, tab }) => {
  const id = await bell.newTask('slow 4');
  await bell.done();
  const other = await tab();
  await other.open(id);
  await other.send('slow 6');
  await expect(bell.thread).toContainText('slow 6');
  await expect(bell.thread).toContainText('1 2 3 4 5 6');
  await bell.done();
  await other.done();
  for (const one of [bell, other]) {
    await expect(one.thread.getByRole('article')).toHaveCount(2);
    await expect(one.thread).toContainText('1 2 3 4 5 6');
    await bringToFront(one, 'slow 6');
    expect((await one.thread.innerText()).match(/slow 6/g)).toHaveLength(1);
    expect((await one.thread.innerText()).match(/1 2 3 4 5 6/g)).toHaveLength(1);
  }
});

test('the list in the other tab follows: badge, rename, archive with undo', { tag: '@daily' }, async ({
  bell,
  tab,
}) => {
  const other = await tab();
  await other.page.goto('/');
  await bell.newTask('write list.txt: badge');
  const list = other.page.getByRole('region', { name: 'Tasks' });
  const row = list.getByRole('link', { name: /write list\.txt/ });
  await expect(row).toContainText('Waiting for you');
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.press('Control+Enter');
  await expect(row).toContainText('Done');

  const actions = other.page.getByRole('button', { name: /Actions for write list/ });
  await actions.click();
  await other.page.getByRole('menuitem', { name: 'Rename' }).click();
  await other.page.getByRole('textbox', { name: 'New title' }).fill('A better name');
  await other.page.keyboard.press('Enter');
  await expect(bell.page.getByRole('heading', { level: 1 })).toHaveText('A better name');

  await other.page.getByRole('button', { name: 'Actions for A better name' }).click();
  await other.page.getByRole('menuitem', { name: 'Archive' }).click();
  const undo = other.page.getByRole('button', { name: 'Undo' });
  await undo.hover(); // the message stays while the pointer is on it
  await expect(list.getByRole('link', { name: /A better name/ })).toBeHidden();
  await undo.click();
  await expect(list.getByRole('link', { name: /A better name/ })).toBeVisible();
});

test('a row stays where it is while its menu is open or its title is changed', async ({ bell, tab }) => {
  const other = await tab();
  await other.page.goto('/');
  await bell.newTask('write list.txt: moves');
  const asks = other.page.getByRole('region', { name: /^Needs you/ });
  const row = asks.getByRole('link', { name: /write list\.txt/ });
  await expect(row).toContainText('Waiting for you');
  const actions = asks.getByRole('button', { name: /Actions for write list/ });
  await actions.click();
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.press('Control+Enter');
  await expect(row).toContainText('Done');
  await asks.getByRole('menuitem', { name: 'Rename' }).click();
  await asks.getByRole('textbox', { name: 'New title' }).fill('A better name');
  await bell.send('hold');
  await expect(bell.stop).toBeVisible();
  await expect(asks.getByRole('textbox', { name: 'New title' })).toHaveValue('A better name');
  await other.page.keyboard.press('Enter');
  const works = other.page.getByRole('region', { name: /^Working/ });
  await expect(works.getByRole('link', { name: /A better name/ })).toBeVisible();
  await expect(asks).toBeHidden();
});
