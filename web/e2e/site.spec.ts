import type { Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import { Guard } from './kit/guard.ts';
import { expect, test as base } from './kit/test.ts';

/** The documentation is opened from its folder: no server is needed. */
const test = base.extend({
  baseURL: undefined,
  guard: async ({ context }, use) => {
    const guard = new Guard();
    // axe requests style sheets, which browsers refuse to pages of a folder.
    guard.allow(/style\.css/, /Couldn't load preload assets/);
    await guard.watch(context);
    const foreign: string[] = [];
    context.on('request', (request) => {
      if (!request.url().startsWith('file:')) foreign.push(request.url());
    });
    await use(guard);
    expect(guard.findings(), 'errors in the page').toEqual([]);
    expect(foreign, 'requests that leave the folder').toEqual([]);
  },
});

const fits = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);

for (const colorScheme of ['light', 'dark'] as const) {
  test(`pages are free of axe violations, ${colorScheme}`, async ({ page, site }) => {
    await page.emulateMedia({ colorScheme });
    for (const address of [
      'index.html',
      'concepts.html',
      'tutorials/agent.html',
      'protocol/broker.html',
      'adr/index.html',
    ]) {
      await page.goto(`${site}/${address}`);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await accessible(page, `${address}, ${colorScheme}`);
    }
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(21, 24, 27)' : 'rgb(255, 255, 255)');
  });
}

test('pictures are shown, and follow the colours of the system', async ({ page, site }) => {
  await page.goto(`${site}/concepts.html`);
  for (const picture of await page.locator('main img').all()) {
    await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(100);
    await expect(picture).toHaveAttribute('alt', /\w+ \w+/);
  }
});

test('the search is used with the keyboard, and leads to a section', async ({ page, site }) => {
  await page.goto(`${site}/tutorials/agent.html`);
  await page.keyboard.press('/');
  const search = page.getByRole('combobox', { name: 'Search the documentation' });
  await expect(search).toBeFocused();
  await page.keyboard.type('failover');
  const results = page.getByRole('option');
  await expect(results.first()).toContainText('Operations › Failover');
  await expect(results.first()).toHaveAttribute('aria-selected', 'true');
  await accessible(page, 'results of a search');
  await page.keyboard.press('ArrowDown');
  await expect(results.nth(1)).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/operations\.html#failover$/);
  await expect(page.getByRole('heading', { name: 'Failover', exact: true })).toBeInViewport();

  await search.fill('zzznothing');
  await expect(page.getByRole('status')).toHaveText('Nothing found');
  await search.fill('failover');
  await expect(results.first()).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(results).toHaveCount(0);
});

test('on a phone nothing is wider than the page, and the pages are in a menu', async ({ page, site }) => {
  await page.setViewportSize({ width: 375, height: 740 });
  for (const address of ['index.html', 'operations.html', 'benchmarks.html', 'comparison.html']) {
    await page.goto(`${site}/${address}`);
    expect(await fits(page), address).toBe(true);
  }
  const link = page.getByRole('navigation').getByRole('link', { name: 'Concepts' });
  await expect(link).toBeHidden();
  await page.getByText('All pages').click();
  await link.click();
  await expect(page.getByRole('heading', { level: 1, name: 'Concepts' })).toBeVisible();
  await accessible(page, 'on a phone');
});

test.describe('without scripts', () => {
  test.use({ javaScriptEnabled: false });

  test('every page can be reached', async ({ page, site }) => {
    await page.goto(`${site}/index.html`);
    await expect(page.getByRole('search')).toBeHidden();
    await page.locator('summary', { hasText: 'Operate' }).click();
    await page.getByRole('link', { name: 'Versioning', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Versioning' })).toBeVisible();
  });
});
