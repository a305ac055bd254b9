import type { Console } from './kit/console.ts';
import { accessible } from './kit/axe.ts';
import { openBasic } from './kit/basic.ts';
import { expect, test } from './kit/test.ts';
import type { World } from './kit/world.ts';
import { fulfill } from './kit/fulfill.ts';

const queueOf = ({ page }: Console) => page.getByRole('list', { name: 'Queued messages' });
const textsOf = (bell: Console) => queueOf(bell).locator('li > span').allInnerTexts();

const asked = async (world: World, id: string) =>
  (await world.api.messages(id)).filter((m) => m.role === 'USER').map((m) => m.message);

test('two tabs see and change the same queue', { tag: '@daily' }, async ({ bell, tab, world }) => {
  test.slow();
  const id = await bell.newTask('write hold.txt: two tabs');
  await expect(bell.dock).toBeVisible();
  for (const text of ['slow 4', 'slow 5', 'never sent']) await bell.send(text);
  const other = await tab();
  await other.open(id);
  await expect.poll(() => textsOf(other)).toEqual(['slow 4', 'slow 5', 'never sent']);
  await queueOf(other).getByRole('button', { name: 'Move queued message up' }).first().click();
  await expect.poll(() => textsOf(bell)).toEqual(['slow 5', 'slow 4', 'never sent']);
  await queueOf(bell).getByRole('button', { name: 'Remove queued message' }).last().click();
  await queueOf(bell).getByRole('button', { name: 'Edit queued message' }).first().click();
  await bell.page.getByRole('textbox', { name: 'Queued message' }).fill('slow 3');
  await bell.page.keyboard.press('Enter');
  await expect.poll(() => textsOf(other)).toEqual(['slow 3', 'slow 4']);
  await accessible(bell.page, 'a queue');

  await other.page.reload();
  await expect.poll(() => textsOf(other)).toEqual(['slow 3', 'slow 4']);
  await expect(other.allow).toBeEnabled();
  await other.allow.click();
  await expect(queueOf(bell)).toBeHidden();
  await expect(bell.thread).toContainText('1 2 3 4');
  await bell.done();
  expect(await asked(world, id)).toEqual(['write hold.txt: two tabs', 'slow 3', 'slow 4']);
});

/** Waits until the broker has all of the user's messages, whether they were sent or are queued. */
const accepted = (world: World, id: string, messages: number) =>
  expect
    .poll(async () => (await asked(world, id)).length + ((await world.api.task(id)).queue?.messages ?? 0))
    .toBe(messages);

test('the queue runs on after its page was closed', async ({ bell, world }) => {
  test.slow();
  const id = await bell.newTask('write hold.txt: closed');
  await expect(bell.dock).toBeVisible();
  await bell.send('slow 2');
  await bell.send('slow 3');
  await accepted(world, id, 3);
  await bell.page.close();
  const [question] = await world.api.interactions(id);
  await world.api.call('POST', `/api/interactions/${question?.id}`, { approved: true });
  await expect
    .poll(() => asked(world, id), { timeout: 60_000 })
    .toEqual(['write hold.txt: closed', 'slow 2', 'slow 3']);
  await expect.poll(async () => (await world.api.task(id)).openTurn, { timeout: 60_000 }).toBeNull();
  const answers = (await world.api.messages(id)).map((m) => m.message);
  expect(answers.some((text) => text.includes('1 2 3'))).toBe(true);
});

test('the queue of a basic server runs on after its page was closed', async ({ bell, world, guard }) => {
  test.slow();
  guard.allow(/net::ERR_|Failed to fetch/);
  const server = await openBasic(world, 'a server without finish events');
  try {
    await server.setReach('relay');
    const { id } = await world.api.newTask('basic queue', { hostId: server.id });
    await bell.open(id);
    await bell.send(Array.from({ length: 400 }, (_, i) => `w${i + 1}`).join(' '));
    await expect(bell.answers.last()).toContainText('w1 w2 w3');
    await bell.send('the next one');
    await bell.send('the last one');
    await accepted(world, id, 3);
    await bell.page.close();
    const answers = async () =>
      (await world.api.messages(id)).filter((m) => m.role === 'ASSISTANT').map((m) => m.message);
    await expect.poll(answers, { timeout: 60_000 }).toContain('the last one');
    await expect.poll(async () => (await world.api.task(id)).openTurn, { timeout: 60_000 }).toBeNull();
    expect((await asked(world, id)).slice(1)).toEqual(['the next one', 'the last one']);
  } finally {
    await server.stop();
  }
});

test('a message is sent at once, and a stop pauses the others in every tab', { tag: '@daily' }, async ({
  bell,
  tab,
  world,
}) => {
  test.slow();
  // Both turns are open until their question is answered.
  const [first, next] = ['write hold.txt: first', 'write hold.txt: next'];
  const id = await bell.newTask(first);
  await expect(bell.dock).toBeVisible();
  await bell.send('slow 2');
  await bell.send(next);
  await expect.poll(() => textsOf(bell)).toEqual(['slow 2', next]);
  const sendNow = queueOf(bell).getByRole('button', { name: 'Send queued message now' });
  await expect(sendNow).toHaveCount(2); // a message has it once it is stored
  await sendNow.last().click();
  await expect.poll(() => asked(world, id)).toEqual([first, next]);
  await expect.poll(() => textsOf(bell)).toEqual(['slow 2']);
  const other = await tab();
  await other.open(id);
  await expect(other.dock).toBeVisible();
  await other.stop.click();
  for (const one of [bell, other]) await expect(one.page.getByText('The queue is paused')).toBeVisible();
  await bell.done();
  expect(await asked(world, id)).toEqual([first, next]);
});

test('a message that the broker refused is queued by another try; Escape leaves a queued one as it was', async ({
  bell,
  guard,
  world,
}) => {
  guard.allow(/503/);
  const id = await bell.newTask('write hold.txt: refused');
  await expect(bell.dock).toBeVisible();
  await bell.page.route('**/api/tasks/*/queue', (route) =>
    route.request().method() === 'POST'
      ? fulfill(route, { status: 503, json: { error: 'The database is not available', code: 'unavailable' } })
      : route.fallback(),
  );
  await bell.send('slow 2');
  const refused = queueOf(bell).getByRole('listitem').filter({ hasText: 'Not queued' });
  await expect(refused).toContainText('The database is not available');
  expect((await world.api.task(id)).queue?.messages ?? 0).toBe(0);
  await bell.page.unroute('**/api/tasks/*/queue');
  await refused.getByRole('button', { name: 'Try again' }).click();
  await expect(refused).toBeHidden();
  await expect.poll(() => textsOf(bell)).toEqual(['slow 2']);
  await expect.poll(async () => (await world.api.task(id)).queue?.messages).toBe(1);

  await queueOf(bell).getByRole('button', { name: 'Edit queued message' }).click();
  const editor = bell.page.getByRole('textbox', { name: 'Queued message' });
  await editor.fill('slow 200');
  await editor.press('Escape');
  await expect(editor).toBeHidden();
  await bell.page.reload();
  await expect.poll(() => textsOf(bell)).toEqual(['slow 2']);
  expect((await world.api.task(id)).queue?.messages).toBe(1);
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test('a queue fits, and its buttons are large enough', async ({ bell, world }) => {
    const { id } = await world.api.newTask('a queue on a phone');
    await bell.open(id);
    await bell.send('write hold.txt: phone');
    await expect(bell.dock).toBeVisible();
    for (const text of ['a message that is longer than the width of a phone '.repeat(3), 'slow 2'])
      await world.api.call('POST', `/api/tasks/${id}/queue`, { message: text });
    await expect(queueOf(bell).getByRole('listitem')).toHaveCount(2);
    for (const button of await queueOf(bell).getByRole('button').all()) {
      const box = await button.boundingBox();
      expect(Math.min(box?.height ?? 0, box?.width ?? 0), 'a target for a thumb').toBeGreaterThanOrEqual(44);
      expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(390);
    }
    expect(await bell.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
});
