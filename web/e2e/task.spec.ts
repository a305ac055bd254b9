import { expect, test } from './kit/test.ts';

test('text grows while the agent writes, and is complete after a reload', async ({ bell }) => {
  await bell.newTask('slow 40');
  const counts: number[] = [];
  await expect
    .poll(
      async () => {
        counts.push((await bell.answer()).match(/\d+/g)?.length ?? 0);
        return new Set(counts).size;
      },
      { intervals: [50], message: 'how much of the answer was seen' },
    )
    .toBeGreaterThan(5);
  expect(counts, 'an answer never shrinks').toEqual([...counts].sort((a, b) => a - b));
  await bell.done();
  const counted = Array.from({ length: 40 }, (_, i) => i + 1).join(' ');
  await expect(bell.thread).toContainText(counted);
  const before = await bell.answer();

  await bell.page.reload();
  await expect(bell.thread).toContainText(counted);
  expect(await bell.answer()).toBe(before);
});

test('a reload during a turn continues the turn', async ({ bell }) => {
  await bell.newTask('slow 30');
  await expect(bell.thread).toContainText('1 2 3 4 5');
  await bell.page.reload();
  await bell.done();
  await expect(bell.thread).toContainText(Array.from({ length: 30 }, (_, i) => i + 1).join(' '));
  await expect(bell.thread.getByRole('article')).toHaveCount(1);
});

test('Esc stops the agent', async ({ bell, world }) => {
  const id = await bell.newTask('slow 300');
  await expect(bell.thread).toContainText('1 2 3');
  await bell.message.press('Escape');
  await expect(bell.thread).toContainText('Stopped by you');
  await bell.done();
  expect((await world.api.task(id)).lastTurn?.reason).toBe('aborted');
});

test('a message written while the agent works waits, can be changed, and is sent by itself', async ({
  bell,
  world,
}) => {
  const id = await bell.newTask('write hold.txt: on');
  await expect(bell.dock).toBeVisible();
  await bell.send('slow 9');
  await bell.send('never sent');
  const queue = bell.page.getByRole('list', { name: 'Queued messages' });
  await expect(queue.getByRole('listitem')).toHaveCount(2);
  await queue.getByRole('button', { name: 'Remove queued message' }).nth(1).click();
  await queue.getByRole('button', { name: 'Edit queued message' }).click();
  await bell.page.getByRole('textbox', { name: 'Queued message' }).fill('slow 5');
  await bell.page.keyboard.press('Enter');

  await bell.allow.click();
  await expect(queue).toBeHidden();
  await expect(bell.thread).toContainText('1 2 3 4 5');
  await bell.done();
  const asked = (await world.api.messages(id)).filter((m) => m.role === 'USER').map((m) => m.message);
  expect(asked).toEqual(['write hold.txt: on', 'slow 5']);
});

test('a question is answered with text', async ({ bell }) => {
  await bell.newTask('ask Which colour?');
  await expect(bell.dock).toContainText('Which colour?');
  await bell.page.getByRole('textbox', { name: 'Your answer' }).fill('a deep green');
  await expect(bell.page.getByRole('button', { name: 'Send answer' })).toBeEnabled();
  await bell.page.keyboard.press('Enter');
  await bell.done();
  await expect(bell.thread).toContainText('a deep green');
  await expect(bell.dock).toBeHidden();
});

test('the form of a new task offers the agents that the broker lists', async ({ bell, world }) => {
  const { agents } = await world.api.call<{ agents: { id: string; title: string }[] }>('GET', '/api/agents');
  expect(agents.map((a) => a.id)).toContain('demo');
  await bell.page.goto('/');
  const agent = bell.page.getByLabel('Agent');
  const options = bell.page.locator(`datalist[id="${await agent.getAttribute('list')}"] option`);
  await expect(options).toHaveCount(agents.length);
  expect(await options.evaluateAll((all) => all.map((o) => [o.getAttribute('value'), o.textContent]))).toEqual(
    agents.map((a) => [a.id, a.title]),
  );
  await agent.fill('demo');
  await bell.page.getByRole('textbox', { name: 'First message' }).fill('slow 3');
  await bell.page.keyboard.press('Enter');
  await bell.page.waitForURL('**/tasks/*');
  expect((await world.api.task(bell.taskId())).agent).toBe('demo');
});
