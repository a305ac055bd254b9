import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';

for (const { name, viewport, colorScheme } of [
  { name: 'on a desktop', viewport: { width: 1280, height: 800 }, colorScheme: 'light' as const },
  { name: 'on a phone, dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
]) {
  test(`the page of the API is searched and read by keyboard, without signing in, ${name}`, async ({ signedOut }) => {
    test.slow(); // axe looks at some ten thousand elements
    const page = signedOut;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await page.goto('/openapi');
    await expect(page.getByRole('heading', { name: 'Bellhop broker API' })).toBeVisible();
    await page.getByRole('searchbox', { name: 'Search' }).focus();
    await page.keyboard.type('GET tasks last activity');
    await expect(page.getByRole('status')).toHaveText(/^1 of \d+ match$/);
    const operation = page.locator('#listTasks');
    await operation.locator('summary').focus();
    await page.keyboard.press('Enter');
    await expect(operation).toContainText('Operation listTasks');
    await expect(operation).toContainText('apiToken with tasks:read');

    // The schema is hidden by the search until its link is followed.
    const schema = page.locator('#schema-TaskList');
    await expect(schema).toBeHidden();
    await operation.getByRole('link', { name: 'TaskList' }).press('Enter');
    await expect(schema).toContainText('nextCursor');
    await expect(schema).toBeInViewport();
    await expect(page.getByRole('searchbox')).toHaveValue('');
    await accessible(page, 'the page of the API, with an operation and a schema');

    const overflow = await page.evaluate(() => {
      for (const details of document.querySelectorAll('details')) details.open = true;
      return document.documentElement.scrollWidth - document.documentElement.clientWidth;
    });
    expect(overflow, 'pixels beside the screen').toBe(0);
  });
}

test('an address of an operation opens it, and the documents are beside the page', async ({ signedOut, world }) => {
  const page = signedOut;
  await page.goto('/openapi#readFile');
  await expect(page.locator('#readFile')).toHaveAttribute('open');
  for (const [link, type] of [
    ['YAML', 'application/yaml'],
    ['JSON', 'application/json'],
  ] as const) {
    const href = await page.getByRole('link', { name: link, exact: true }).getAttribute('href');
    const document = await page.request.get(`${world.broker}/${href}`);
    expect(document.headers()['content-type']).toContain(type);
    expect(await document.text()).toContain('listTasks');
  }
  await page.goto(`${world.host}/openapi#startTurn`);
  await expect(page.getByRole('heading', { name: 'Bellhop agent host API' })).toBeVisible();
  await expect(page.locator('#startTurn')).toHaveAttribute('open');
});
