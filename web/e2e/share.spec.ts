import { marked, type Token } from 'marked';
import type { Download, Page } from '@playwright/test';
import { readFile } from 'node:fs/promises';
import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import type { Console } from './kit/console.ts';

const menu = (page: Page) => page.getByRole('button', { name: 'Actions for this task' });

/** Opens the dialog of share links and makes one; returns its address. */
async function share(bell: Console): Promise<string> {
  await menu(bell.page).click();
  await bell.page.getByRole('menuitem', { name: /^Share/ }).click();
  const dialog = bell.page.getByRole('dialog', { name: 'Share this task' });
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const link = await dialog.getByRole('status').getByRole('code').innerText();
  await accessible(bell.page, 'the dialog of share links');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(dialog).not.toContainText(link);
  await expect(dialog.getByRole('button', { name: /Revoke the link/ })).toHaveCount(1);
  await dialog.getByRole('button', { name: 'Close' }).click();
  return link;
}

/** The kinds of tokens of HTML in a document, and the targets of its links and images. */
function partsOf(document: string): { html: string[]; links: string[]; images: string[]; headings: string[] } {
  const found = { html: [] as string[], links: [] as string[], images: [] as string[], headings: [] as string[] };
  void marked.walkTokens(marked.lexer(document), (token: Token) => {
    if (token.type === 'html') found.html.push(...(token.raw.match(/<\/?[a-z!?][^>]*>?/gi) ?? []));
    if (token.type === 'link') found.links.push(String(token.href));
    if (token.type === 'image') found.images.push(String(token.href));
    if (token.type === 'heading') found.headings.push(String(token.text));
  });
  return found;
}

/** Tags that the export itself does not write. */
const foreign = (html: string[]) => html.filter((tag) => !/^<\/?(details|summary)>$/.test(tag));

const textOf = async (download: Download): Promise<string> => readFile(await download.path(), 'utf8');

const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwx';
const markup =
  '<img src=x onerror=document.title=1> ![p](https://tracker.example/p.png) [j](javascript:document.title=1)';

for (const { name, viewport, colorScheme } of [
  { name: 'on a desktop', viewport: { width: 1280, height: 800 }, colorScheme: 'light' as const },
  { name: 'on a phone, dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
]) {
  test(`a task is shared by a link, read without signing in, and the link is revoked, ${name}`, async ({
    bell,
    browser,
    guard,
    world,
  }) => {
    await bell.page.emulateMedia({ colorScheme });
    const id = await bell.newTask(`echo ${secret} ${markup}`);
    await bell.page.setViewportSize(viewport);
    await bell.done();
    const link = await share(bell);
    expect(link).toMatch(new RegExp(`^${world.console}/shared#bhs_[\\w-]{43}$`));
    await bell.send('echo came after the link');
    await bell.done();
    await menu(bell.page).click();
    await expect(bell.page.getByRole('menuitem', { name: 'Share (1)' })).toBeVisible();

    const context = await browser.newContext({ viewport, colorScheme });
    await guard.watch(context);
    const reader = await context.newPage();
    const calls: { url: string; cookie: string | undefined }[] = [];
    reader.on('request', (r) => calls.push({ url: r.url(), cookie: r.headers().cookie }));
    await reader.goto(link);
    const turns = reader.getByRole('article');
    await expect(turns).toHaveCount(1);
    await expect(turns.first()).toContainText('[redacted]');
    await expect(turns.first()).toContainText('<img src=x onerror=document.title=1>');
    await expect(reader.locator('body')).not.toContainText(secret);
    await expect(reader.locator('body')).not.toContainText('came after');
    await expect(reader.getByRole('textbox')).toHaveCount(0);
    await accessible(reader, `a shared task ${name}`);
    expect(await reader.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(
      calls.filter(({ url }) => new URL(url).search.includes('bhs_') || new URL(url).pathname.includes('bhs_')),
    ).toEqual([]);
    expect(calls.some(({ url }) => url.includes('/api/shared'))).toBe(true);

    const [saved] = await Promise.all([
      reader.waitForEvent('download'),
      reader.getByRole('button', { name: 'Download as Markdown' }).click(),
    ]);
    const shared = await textOf(saved);
    expect(shared).not.toContain(secret);
    expect(foreign(partsOf(shared).html)).toEqual([]);
    expect(partsOf(shared).images).toEqual([]);

    // The owner's session is not used: with its cookie the page sends none.
    const own = await bell.page.context().newPage();
    const requests: (string | undefined)[] = [];
    own.on('request', async (r) => {
      if (r.url().includes('/api/shared')) requests.push((await r.allHeaders()).cookie);
    });
    await own.goto(link);
    await expect(own.getByRole('article')).toHaveCount(1);
    await expect.poll(() => requests).toEqual([undefined]);
    await own.close();

    await bell.page.keyboard.press('Escape');
    await bell.page.goto(`${world.console}/settings`);
    const table = bell.page.getByRole('table', { name: 'Share links' });
    await table.getByRole('button', { name: /Revoke the link/ }).click();
    await expect(bell.page.getByText('No link works.')).toBeVisible();
    guard.allow(/404/);
    await reader.reload();
    await expect(reader.getByRole('alert')).toContainText('This link does not work');
    await expect(reader.getByRole('article')).toHaveCount(0);
    await accessible(reader, `a link that does not work ${name}`);
    await context.close();
    await world.api.call('DELETE', `/api/tasks/${id}`);
  });
}

test('a task is exported as Markdown, and texts of others keep their place in it', { tag: '@daily' }, async ({
  bell,
}) => {
  await bell.newTask(`echo ${markup} \`\`\``);
  await bell.done();
  await bell.send('list');
  await bell.done();
  await menu(bell.page).click();
  const [saved] = await Promise.all([
    bell.page.waitForEvent('download'),
    bell.page.getByRole('menuitem', { name: 'Export as Markdown' }).click(),
  ]);
  expect(saved.suggestedFilename()).toBe('bellhop-task.md');
  const document = await textOf(saved);
  const { html, links, images, headings } = partsOf(document);
  expect(foreign(html)).toEqual([]);
  expect(html.filter((tag) => tag === '<details>').length).toBe(html.filter((tag) => tag === '</details>').length);
  expect(images).toEqual([]);
  expect(links.filter((href) => !href.startsWith('https://'))).toEqual([]);
  expect(headings.filter((text) => /^User, /.test(text))).toHaveLength(2);
  expect(headings.filter((text) => /^Agent, /.test(text))).toHaveLength(2);
});
