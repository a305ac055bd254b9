import type { Page } from '@playwright/test';
import type { Task } from './kit/api.ts';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import { openTerminalHost, type World } from './kit/world.ts';

const pane = (page: Page) => page.getByRole('complementary', { name: 'Terminal' });
/** The visible rows of a terminal. */
const rows = (page: Page) => pane(page).locator('.xterm-rows');
const status = (page: Page) => pane(page).getByRole('status');

/** A task whose agent has worked once, so that it has a workspace. */
async function worked(world: World, title: string, hostId: string): Promise<Task> {
  const task = await world.api.newTask(title, { hostId, agent: 'demo' });
  await world.api.prompt(task.id, 'say hello');
  await expect.poll(async () => (await world.api.task(task.id)).lastTurn).toBeTruthy(); // it is not open at first
  return task;
}

const showTerminal = (page: Page) => page.getByRole('button', { name: 'Terminal', exact: true }).click();

async function type(page: Page, line: string) {
  await pane(page).getByRole('textbox').focus();
  await page.keyboard.type(`${line}\n`);
}

async function acts(world: World, task: Task): Promise<string[]> {
  const audit = await world.api.call<{ entries: { action: string; subject: { id: string } }[] }>('GET', '/api/audit');
  return audit.entries.filter((e) => e.subject.id === task.id).map((e) => e.action);
}

/** How many connections of their own pages have opened to hosts, and got output from. */
function countDirect(page: Page): () => number {
  let count = 0;
  page.on('websocket', (socket) => {
    if (!new URL(socket.url()).pathname.endsWith('/shell/direct')) return;
    socket.once('framereceived', () => count++);
  });
  return () => count;
}

for (const [device, reach, use] of [
  ['a desktop', 'direct', { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }],
  [
    'a phone in the dark',
    'relay',
    { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true },
  ],
] as const) {
  test.describe(`on ${device}`, () => {
    test.use(use);
    test('a terminal runs commands in the workspace, survives a reload and a flood, and ends', async ({
      bell,
      world,
    }) => {
      test.slow();
      const host = await openTerminalHost(world, `terminals of ${device}`, reach);
      const { page } = bell;
      const direct = countDirect(page);
      const task = await worked(world, `a terminal on ${device}`, host.id);
      await bell.open(task);
      await showTerminal(page);
      await type(page, 'echo "in $PWD"; echo shown-"here"');
      await expect(rows(page)).toContainText('shown-here');
      await expect(rows(page)).toContainText(task.id.slice(0, 8));
      await accessible(page, `a terminal on ${device}`);
      const reader = pane(page).getByRole('button', { name: 'Screen reader' });
      await reader.click();
      await expect(pane(page).getByRole('list')).toContainText('shown-here');
      await accessible(page, `a terminal that screen readers read on ${device}`);
      await reader.click();
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'fits').toBe(true);

      await page.getByRole('button', { name: 'Close terminal' }).click();
      await showTerminal(page);
      await expect(rows(page)).toContainText('shown-here');
      await page.reload();
      await expect(rows(page)).toContainText('shown-here');
      if (reach === 'direct') await expect.poll(direct).toBeGreaterThan(0);

      // Much more than a window of output; the page stays in use, and Ctrl C works.
      await type(page, 'yes "a flood of lines"');
      // Two lines are output; one could be the command, and Ctrl C before its start ends nothing.
      await expect(rows(page)).toContainText('a flood of linesa flood of lines');
      await page.keyboard.press('Control+C');
      await type(page, 'echo still-"works"');
      await expect(rows(page)).toContainText('still-works');
      await type(page, 'exit 3');
      await expect(status(page)).toContainText('exit code 3');
      await pane(page).getByRole('button', { name: 'Open another terminal' }).click();
      await type(page, 'echo another-"one"');
      await expect(rows(page)).toContainText('another-one');
      await pane(page).getByRole('button', { name: 'End', exact: true }).click();
      await expect(status(page)).toContainText('Open another terminal');

      await bell.leave();
      await expect
        .poll(async () => (await acts(world, task)).filter((a) => a === 'task.terminal-closed').length)
        .toBe(4);
      expect((await acts(world, task)).filter((a) => a === 'task.terminal-opened')).toHaveLength(4);
      if (reach === 'relay') expect(direct(), 'connections to a host that pages cannot reach').toBe(0);
      await host.stop();
    });
  });
}

test('a terminal takes characters of all scripts, pastes, new sizes and keys, and ends with its task', async ({
  bell,
  world,
}) => {
  test.slow();
  const host = await openTerminalHost(world, 'terminals for typing', 'direct');
  const { page } = bell;
  const task = await worked(world, 'typing', host.id);
  await bell.open(task);
  await showTerminal(page);
  await type(page, 'printf "%s\\n" "größe 世界 ☂" | tr a-z A-Z');
  await expect(rows(page)).toContainText('GRößE 世界 ☂');

  const paste = (text: string) =>
    pane(page)
      .getByRole('textbox')
      .evaluate((field, pasted) => {
        const data = new DataTransfer();
        data.setData('text/plain', pasted);
        field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
      }, text);
  await type(page, 'echo cat-"runs"; cat > pasted'); // until then the shell itself reads, and keeps carriage returns
  await expect(rows(page)).toContainText('cat-runs');
  for (let piece = 0; piece < 4; piece++) await paste('a line that was pasted\n'.repeat(2500));
  await page.keyboard.press('Control+D');
  await type(page, 'sort -u pasted; wc -l < pasted');
  await expect(rows(page)).toContainText('10000');
  await paste('x'.repeat(600 << 10));
  await expect(status(page)).toContainText('Put it into a file');

  const size = 'clear; echo size-"$(stty size)"';
  await type(page, size);
  const wide = (await page.viewportSize())!.width;
  await expect(rows(page)).toContainText(/size-\d+ \d+/);
  const before = /size-(\d+) \d+/.exec((await rows(page).textContent()) ?? '');
  await page.setViewportSize({ width: wide, height: 480 });
  await expect.poll(() => rows(page).locator('> div').count()).toBeLessThan(Number(before?.[1]));
  await type(page, size);
  await expect
    .poll(async () => Number(/size-(\d+) \d+/.exec((await rows(page).textContent()) ?? '')?.[1]))
    .toBe(await rows(page).locator('> div').count());

  // Keys of the page that programs use: none of them is the page's here.
  await type(page, 'read -rsn1 key; echo got-"$key"');
  await page.keyboard.press('/');
  await expect(rows(page)).toContainText('got-/');
  await page.keyboard.press('Shift+F6');
  await expect(pane(page).getByRole('button', { name: 'Screen reader' })).toBeFocused();

  await world.api.call('PATCH', `/api/tasks/${task.id}`, { archived: true });
  await expect(status(page)).toContainText('You may not use this terminal any more');
  await pane(page).getByRole('button', { name: 'Open another terminal' }).click();
  await expect(status(page)).toContainText('The task is archived');
  await bell.leave();
  await host.stop();
});

test('a host without terminals shows none', async ({ bell, world }) => {
  const { page } = bell;
  const task = await world.api.newTask('no terminal');
  await world.api.prompt(task.id, 'say hello');
  await bell.open(task);
  await expect(page.getByRole('button', { name: 'Files', exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Terminal', exact: true })).toBeHidden();
});
