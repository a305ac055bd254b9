import { accessible } from './kit/axe.ts';
import type { Console } from './kit/console.ts';
import { expect, test } from './kit/test.ts';
import { fulfill } from './kit/fulfill.ts';

test('text grows while the agent writes, and is complete after a reload', { tag: ['@core', '@daily'] }, async ({
  bell,
}) => {
  await bell.newTask('slow 120'); // long enough for six looks of a busy machine
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
  const counted = Array.from({ length: 120 }, (_, i) => i + 1).join(' ');
  await expect(bell.thread).toContainText(counted);
  const before = await bell.answer();

  await bell.page.reload();
  await expect(bell.thread).toContainText(counted);
  await expect.poll(() => bell.answer()).toBe(before);
});

test('a reload during a turn continues the turn', { tag: ['@core', '@daily'] }, async ({ bell }) => {
  await bell.newTask('slow 30');
  await expect(bell.thread).toContainText('1 2 3 4 5');
  await bell.page.reload();
  await bell.done();
  await expect(bell.thread).toContainText(Array.from({ length: 30 }, (_, i) => i + 1).join(' '));
  await expect(bell.thread.getByRole('article')).toHaveCount(1);
});

test('Esc stops the agent', { tag: ['@core', '@daily'] }, async ({ bell, world }) => {
  const id = await bell.newTask('slow 300');
  await expect(bell.thread).toContainText('1 2 3');
  await bell.message.press('Escape');
  await expect(bell.thread).toContainText('Stopped by you');
  await bell.done();
  expect((await world.api.task(id)).lastTurn?.reason).toBe('aborted');
});

test('a message written while the agent works waits, can be changed, and is sent by itself', {
  tag: ['@core', '@daily'],
}, async ({ bell, world }) => {
  const id = await bell.newTask('write hold.txt: on');
  await expect(bell.dock).toBeVisible();
  await bell.send('slow 9');
  await bell.send('never sent');
  const queue = bell.page.getByRole('list', { name: 'Queued messages' });
  await expect(queue.getByRole('listitem')).toHaveCount(2);
  await queue.getByRole('button', { name: 'Remove queued message' }).nth(1).click();
  await expect(queue.getByRole('listitem')).toHaveCount(1);
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

test('the search and the filter by state find a task that no loaded page has', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  const waits = await bell.newTask('ask Which pomegranate?');
  await expect(bell.dock).toBeVisible();
  const newer: { id: string }[] = []; // one after the other: the list shows the last first
  for (let i = 0; i < 60; i++) newer.push(await world.api.call('POST', '/api/tasks', { title: `Newer ${i}` }));
  await bell.page.goto(world.console);
  const list = bell.page.getByRole('region', { name: 'Tasks' });
  const row = list.locator(`a[href$="${waits}"]`);
  await expect(list.getByText('Newer 59')).toBeVisible();
  await expect(row).toHaveCount(0);

  await list.getByRole('button', { name: 'Waiting' }).click();
  await expect(row).toBeVisible();
  await expect(list.getByText('Newer 59')).toHaveCount(0);
  await list.getByRole('button', { name: 'All', exact: true }).click();
  await list.getByRole('searchbox').fill('pomegr');
  await expect(row).toBeVisible();
  await Promise.all(newer.map(({ id }) => world.api.call('DELETE', `/api/tasks/${id}`)));
});

test('a question is answered with text', { tag: '@daily' }, async ({ bell }) => {
  await bell.newTask('ask Which colour?');
  await expect(bell.dock).toContainText('Which colour?');
  await bell.page.getByRole('textbox', { name: 'Your answer' }).fill('a deep green');
  await expect(bell.page.getByRole('button', { name: 'Send answer' })).toBeEnabled();
  await bell.page.keyboard.press('Enter');
  await bell.done();
  await expect(bell.thread).toContainText('a deep green');
  await expect(bell.dock).toBeHidden();
});

test('a new task chooses among what the hosts offer, and the next one begins with the same', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  const { agents } = await world.api.call<{ agents: { id: string }[] }>('GET', '/api/agents');
  expect(agents.map((a) => a.id)).toContain('demo');
  await bell.page.goto('/');
  const agent = bell.page.getByLabel('Agent');
  const offered = agent.locator('option:not([disabled]):not([value=""])');
  await expect(offered).toHaveCount(agents.length);
  expect(await offered.evaluateAll((all) => all.map((o) => o.getAttribute('value'))).then((ids) => ids.sort())).toEqual(
    agents.map((a) => a.id).sort(),
  );
  await agent.selectOption('demo');
  await bell.page.getByRole('textbox', { name: 'First message' }).fill('slow 3');
  await bell.page.keyboard.press('Enter');
  await bell.page.waitForURL('**/tasks/*');
  expect((await world.api.task(bell.taskId())).agent).toBe('demo');
  await bell.page.goto('/');
  await expect(agent).toHaveValue('demo');
});

/** A time zone in which it is noon, so that no task of this run is of yesterday. */
function noonZone(): string {
  const ahead = 12 - new Date().getUTCHours();
  return `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
}

test.describe('at noon', () => {
  test.use({ timezoneId: noonZone() });

  test('the list is grouped, ended tasks are archived together, and Ctrl K finds the rest', async ({ bell, world }) => {
    const { page } = bell;
    const titles = ['palette one', 'palette two', 'palette asks'];
    for (const title of titles) {
      const task = await world.api.newTask(title);
      await world.api.prompt(task.id, title.endsWith('asks') ? 'write palette.txt: x' : 'help');
    }
    await page.goto('/');
    const tasks = page.getByRole('region', { name: 'Tasks' });
    await expect(
      tasks.getByRole('region', { name: /^Needs you/ }).getByRole('link', { name: 'palette asks' }),
    ).toBeVisible();
    const today = tasks.getByRole('region', { name: /^Today/ });
    for (const title of ['palette one', 'palette two'])
      await expect(today.getByRole('link', { name: title })).toContainText('Done');

    await today.getByRole('button', { name: 'Actions for Today' }).click();
    await page.getByRole('menuitem', { name: /^Archive \d+ ended tasks/ }).click();
    const undo = page.getByRole('button', { name: 'Undo' });
    await undo.hover(); // the message stays while the pointer is on it
    await expect(tasks.getByRole('link', { name: 'palette two' })).toBeHidden();
    await expect(tasks.getByRole('link', { name: 'palette asks' })).toBeVisible();
    await undo.click();
    await expect(today.getByRole('link', { name: 'palette two' })).toBeVisible();

    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Find a task, a page or an act' });
    await field.fill('palette tw');
    const found = page.getByRole('listbox', { name: 'Results' }).getByRole('option');
    await expect(found).toHaveText(['palette two']);
    await field.press('Enter');
    await expect(page.getByRole('heading', { name: 'palette two', level: 1 })).toBeVisible();
    await page.keyboard.press('Control+k');
    await field.fill('audit');
    await expect(found).toHaveText(['Audit log']);
    await field.press('Enter');
    await expect(page.getByRole('heading', { name: 'Audit log', level: 1 })).toBeVisible();
  });
});

test('the header shows branch and changes of the workspace, and a new task can work in an existing one', async ({
  bell,
  world,
  guard,
}) => {
  guard.allow(/409/);
  const { page } = bell;
  await bell.newTask('write hold.txt: on');
  await bell.allow.click();
  await bell.done();
  await expect(page.getByText('main (uncommitted changes)')).toBeVisible();
  await page.getByRole('button', { name: 'Actions for this task' }).click();
  await page.getByRole('menuitem', { name: 'Workspace' }).click();
  await expect(page.getByRole('dialog', { name: 'Workspace' })).toContainText('Uncommitted changes');
  await page.keyboard.press('Escape');

  await page.goto('/workspaces');
  await expect(page.getByRole('heading', { name: 'No workspace yet' })).toBeVisible();

  const [host] = (await world.api.call<{ hosts: { id: string; name: string }[] }>('GET', '/api/hosts')).hosts;
  const made = { project: '', branch: 'bellhop/fix', dirty: true, unpushed: 2, createdAt: new Date(), createdBy: 't1' };
  const workspaces = [
    { ...made, name: 'fix', metadata: { port: '3000' } },
    { ...made, name: 'taken', metadata: {}, usedBy: bell.taskId() },
  ];
  await page.route('**/api/workspaces', (route) =>
    fulfill(route, { json: { hosts: [{ hostId: host?.id, name: host?.name, workspaces }] } }),
  );
  await page.setViewportSize({ width: 390, height: 844 });
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'port' });
  for (const text of ['bellhop/fix', '2 commits only here', '3000', 'nobody']) await expect(row).toContainText(text);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);

  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto('/');
  const picker = page.getByRole('combobox', { name: 'Workspace' });
  await expect(picker.locator('option[disabled]')).toHaveText('taken (in use)');
  await picker.selectOption('fix (bellhop/fix)');
  await page.getByRole('textbox', { name: 'First message' }).fill('slow 3');
  const sent = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/api/tasks'));
  await page.route('**/api/tasks', (route) =>
    route.request().method() === 'POST'
      ? fulfill(route, { status: 409, json: { error: 'Another task works in the workspace', code: 'conflict' } })
      : route.fallback(),
  );
  await page.keyboard.press('Enter');
  expect((await sent).postDataJSON()).toMatchObject({ workspace: 'fix', hostId: host?.id });
  await expect(page.getByText('Another task works in the workspace')).toBeVisible();
});

/** Has the hosts offer the project shop, and collects the searches for its files. */
async function offerShop({ page, api }: Console): Promise<string[]> {
  const asked: string[] = [];
  await page.route('**/api/agents', async (route) => {
    const list = await api.call<{ hosts: { offer?: { projects: unknown[] } }[] }>('GET', '/api/agents');
    const branches = ['main', 'release/2', 'fix-login'];
    for (const host of list.hosts)
      host.offer?.projects.push({ name: 'shop', isRepository: true, defaultBranch: 'main', branches });
    await fulfill(route, { json: list });
  });
  await page.route('**/api/paths?**', (route) => {
    const { searchParams } = new URL(route.request().url());
    asked.push(`${searchParams.get('project')}@${searchParams.get('branch')} ${searchParams.get('q')}`);
    return fulfill(route, { json: { paths: ['src/main.ts', 'src/', 'my notes.md'] } });
  });
  return asked;
}

test('a task starts from the chosen branch, and its message names files', async ({ bell, guard }) => {
  guard.allow(/409/);
  const { page } = bell;
  const asked = await offerShop(bell);
  await page.route('**/api/tasks', (route) =>
    route.request().method() === 'POST'
      ? fulfill(route, { status: 409, json: { error: 'The project shop has no branch', code: 'no_branch' } })
      : route.fallback(),
  );
  await page.goto('/');
  await page.getByRole('combobox', { name: 'Project' }).selectOption('shop (main)');
  const branch = page.getByRole('combobox', { name: 'Branch' });
  await branch.click();
  const listed = (name: string) => page.getByRole('listbox', { name }).getByRole('option');
  await expect(listed('Branches')).toHaveText(['Default (main)', 'main', 'release/2', 'fix-login']);
  await accessible(page, 'branches');
  await branch.fill('fix');
  await branch.press('Enter');
  await expect(branch).toHaveValue('fix-login');
  await expect(listed('Branches')).toHaveCount(0);

  const message = page.getByRole('textbox', { name: 'First message' });
  await message.click();
  await message.pressSequentially('Read @ma');
  await expect(listed('Files')).toHaveText(['src/main.ts', 'src/', 'my notes.md']);
  await accessible(page, 'files');
  await message.press('ArrowDown');
  await message.press('ArrowDown');
  await message.press('Tab');
  await expect(message).toHaveValue('Read @"my notes.md" ');
  await message.pressSequentially('and @x');
  await expect(listed('Files')).toHaveCount(3);
  await message.press('Escape');
  await expect(listed('Files')).toHaveCount(0);
  expect(asked).toContain('shop@fix-login ma');

  const sent = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/api/tasks'));
  await message.press('Enter');
  expect((await sent).postDataJSON()).toMatchObject({ project: 'shop', branch: 'fix-login' });
  await expect(page.getByText('The project shop has no branch')).toBeVisible();
});

test('a message of a task names a file of its workspace', async ({ bell }) => {
  const { page } = bell;
  await bell.newTask('write notes.md: one');
  await bell.allow.click();
  await bell.done();
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.click();
  await message.pressSequentially('See @note');
  await page.getByRole('option', { name: 'notes.md' }).click();
  await expect(message).toHaveValue('See @notes.md ');
  await expect(message).toBeFocused();
});
