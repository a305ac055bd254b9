import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/far.ts';
import type { Console } from './kit/console.ts';
import type { World, FarHost } from './kit/world.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

async function receive(bell: Console, world: World, far: FarHost, prompt: string): Promise<void> {
  const task = await world.api.newTask(prompt.split(' ')[0] ?? '', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send(prompt);
  await bell.done();
}

/** A page that executes the text would change its title. */
const markup = [
  '<script>document.title = "owned"</script>',
  '<img src=x onerror="document.title=\'owned\'">',
  '<iframe srcdoc="<script>parent.document.title=1</script>"></iframe>',
  '<svg onload="document.title=\'owned\'"><style>body{display:none}</style></svg>',
  '<a href="javascript:document.title=\'owned\'">click</a>',
  '[plain](javascript:document.title="owned")',
  '[split](java\tscript:document.title="owned")',
  '[entity](&#106;avascript:document.title="owned")',
  '[data](data:text/html,<script>alert(1)</script>)',
  '[vb](vbscript:msgbox)',
  '![picture](https://tracker.example/pixel.png)',
  '<javascript:document.title="owned">',
  '[file](file:///etc/passwd) [good](https://example.org/path)',
].join('\n\n');

test('markup and script addresses of an agent are text, and nothing is fetched for them', { tag: '@daily' }, async ({
  bell,
  far,
  world,
}) => {
  await receive(bell, world, far, `text ${base64(markup)}`);
  await expect(bell.thread).toContainText('<script>');
  expect(await bell.page.title()).not.toBe('owned');
  const answer = bell.thread.getByRole('article').last();
  expect(await answer.locator('script, iframe, img, style, [onerror], [onload]').count()).toBe(0);
  const links = await answer.getByRole('link').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
  expect(
    links.filter((href) => !/^https?:/.test(href ?? '')),
    'addresses that are no web address',
  ).toEqual([]);
  expect(links).toContain('https://example.org/path');
  for (const link of await answer.getByRole('link').all()) await expect(link).toHaveAttribute('rel', /noopener/);
});

test('what an agent says beside its messages is shown once, as text, until the next turn', async ({
  bell,
  far,
  world,
}) => {
  await receive(bell, world, far, `warn ${base64('The model is busy <img src=x onerror="document.title=1">')}`);
  const notices = bell.page.getByRole('region', { name: 'Notices of this turn' }).getByRole('paragraph');
  await expect(notices).toHaveText(['The model is busy <img src=x onerror="document.title=1">']);
  await accessible(bell.page, 'a notice of a turn');
  await bell.send('say more');
  await expect(bell.thread).toContainText('more');
  await expect(notices).toHaveCount(0);
});

test('broken markdown shows all its words', async ({ bell, far, world }) => {
  const nested = `${'> '.repeat(300)}deep\n\n${'- '.repeat(200)}list\n\n${'['.repeat(2000)}\n\n${'*_'.repeat(2000)}end\n\n| a | b\n|---\n| lonely\n\n\`\`\`js\nnever closed <b>`;
  await receive(bell, world, far, `text ${base64(nested)}`);
  for (const word of ['deep', 'list', 'end', 'lonely', 'never closed <b>'])
    await expect(bell.thread).toContainText(word);
});

test('right-to-left tricks do not reorder a command that is to be allowed', async ({ bell, far, world }) => {
  const task = await world.api.newTask('bidi', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send(`confirm ${base64('rm -rf \u202e/tmp/x\u202c ~ #\u200bsafe')}`);
  await expect(bell.dock).toContainText('rm -rf \\u202e/tmp/x\\u202c ~ #\\u200bsafe');
  await expect(bell.dock).toContainText('Dangerous');
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.press('Control+Shift+Backspace');
  await bell.done();
});

test('terminal escapes produce only colours', async ({ bell, far, world }) => {
  const bomb = `\u001b[31mred\u001b[0m \u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007 \u001b[2J\u001b[999999999;999999999Hmoved ${'\u001b[1;3;4;7;38;5;200m'.repeat(5000)}\u001b]0;owned\u0007 last words`;
  await receive(bell, world, far, `tool ${base64(bomb)}`);
  await bell.thread
    .getByRole('button', { name: /run|Ran|command/i })
    .first()
    .click();
  const output = bell.thread.getByRole('group', { name: /Output of/ });
  await expect(output).toContainText('red');
  const more = output.getByRole('button', { name: /Show more/ });
  await expect(async () => {
    if (await more.isVisible()) await more.click({ timeout: 1_000 });
    await expect(output).toContainText('last words', { timeout: 1_000 });
  }).toPass();
  expect(await output.innerText()).not.toContain('\u001b');
  expect(await output.getByRole('link').count()).toBe(0);
});

/** Measures how long the page takes to show a pressed key. */
async function keyDelay(bell: Console): Promise<number> {
  await bell.message.fill('');
  return bell.message.evaluate(
    (field: HTMLTextAreaElement) =>
      new Promise<number>((resolve) => {
        const from = performance.now();
        field.value += 'x';
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - from)));
      }),
  );
}

test('a line of 1 MiB leaves the page usable', async ({ bell, far, world }) => {
  await receive(bell, world, far, 'line 1024');
  await expect(bell.thread).toContainText('the end of the line');
  await bell.message.fill('still here');
  await expect(bell.message).toHaveValue('still here');
  await bell.page.reload();
  await expect(bell.thread).toContainText('the end of the line');
  expect(
    await bell.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    'the page does not scroll sideways',
  ).toBe(true);
});

test('at ten thousand parts a second the page responds to keys and loses no word', async ({ bell, far, world }) => {
  const task = await world.api.newTask('flood', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send('flood 20000');
  await expect.poll(async () => (await bell.words()).length, { intervals: [20] }).toBeGreaterThan(10);
  const delays: number[] = [];
  for (let i = 0; i < 5; i++) delays.push(await keyDelay(bell));
  test.info().annotations.push({ type: 'key delays in ms', description: delays.map((d) => d.toFixed(0)).join(' ') });
  await bell.done();
  const counted = Array.from({ length: 20_000 }, (_, i) => `w${i + 1}`);
  const kept = (await world.api.answer(task.id)).match(/w\d+/g);
  expect(kept).toEqual(counted);
  await expect.poll(async () => (await bell.words()).length).toBe(20_000);
  expect(await bell.words()).toEqual(counted);
});

test('the documents that an answer names are links, if they are pages, also after a reload', async ({
  bell,
  far,
  world,
}) => {
  await receive(bell, world, far, 'cite https://example.org/manual');
  for (const read of [async () => undefined, () => bell.page.reload()]) {
    await read();
    await expect(bell.thread.getByRole('link', { name: 'The manual' })).toHaveAttribute(
      'href',
      'https://example.org/manual',
    );
    await expect(bell.thread).toContainText('A trick');
    await expect(bell.thread.getByRole('link', { name: 'A trick' })).toHaveCount(0);
  }
  await accessible(bell.page, 'the sources of an answer');
});

test('turns show the tokens and the cost that an agent reports, and a task their sum', async ({ bell, far, world }) => {
  await receive(bell, world, far, 'spend 1200 0.25 100');
  await expect(bell.thread).toContainText('1.2k in, 20 out · $0.25');
  await bell.send('spend 800 0.5 300');
  await bell.done();
  await expect(bell.thread).toContainText('800 in, 20 out · $0.50');
  const bar = bell.page.getByRole('list', { name: 'State of the task' });
  for (const text of ['800 in, 20 out · $0.50', '2.0k in, 40 out · $0.75 in all', '30 % of the context'])
    await expect(bar.getByText(text, { exact: true })).toBeVisible();
  await bell.send('spend lots many NaN');
  await bell.done();
  await expect(bar.getByText('30 % of the context')).toBeVisible(); // of the last turn that reported it

  await bell.page.getByRole('button', { name: 'Actions for this task' }).click();
  await bell.page.getByRole('menuitem', { name: 'Usage' }).click();
  const usage = bell.page.getByRole('dialog', { name: 'Usage' });
  await expect(usage).toContainText('Input tokens2,000');
  await expect(usage).toContainText('Output tokens60');
  await expect(usage).toContainText('Cost$0.75');
  await expect(usage).toContainText('Context30 % of the context');
  await accessible(bell.page, 'usage of a task');
});
