import { expect, test } from './kit/test.ts';

const page401 = '<html><head><title>401 Authorization Required</title></head><body>nginx</body></html>';
const answers = [
  { status: 401, contentType: 'text/html', headers: { 'www-authenticate': 'Bearer' }, body: page401 },
  { status: 401, contentType: 'application/json', body: '{"error":"Unauthorized","code":"unauthorized"}' },
  { status: 200, contentType: 'application/json', body: '{"success":true}' },
  { status: 200, contentType: 'text/html', body: '<html>Welcome to this network</html>' },
];

test('a gateway that answers for the broker signs nobody out, and the page recovers by itself', async ({
  bell,
  guard,
  world,
}) => {
  guard.allow(/401/);
  const { page } = bell;
  await world.api.newTask('A task behind a gateway');
  await page.goto('/');
  const link = page.getByRole('link', { name: /A task behind a gateway/ });
  await expect(link).toBeVisible();
  await page.evaluate(() => Object.assign(globalThis, { untouched: true }));
  let requests = 0;
  const lie = (answer: (typeof answers)[number]) =>
    page.route('**/api/**', (route) => {
      requests++;
      return route.fulfill(answer);
    });
  const signIn = page.getByRole('heading', { name: 'Sign in to Bellhop' });

  // While the page is open.
  for (const answer of answers.slice(0, 2)) {
    requests = 0;
    await lie(answer);
    await page.getByRole('link', { name: 'Inbox' }).first().click();
    await expect.poll(() => requests).toBeGreaterThan(0);
    await expect(signIn).toBeHidden();
    await page.unroute('**/api/**');
    await page.goBack();
    await expect(link).toBeVisible();
  }
  await expect(page.getByRole('alert')).toBeHidden();
  expect(await page.evaluate(() => 'untouched' in globalThis)).toBe(true);

  // While the page is opened.
  for (const answer of answers) {
    await lie(answer);
    await page.reload();
    await expect(page.getByRole('alert')).toContainText('The console could not start');
    await expect(page.getByRole('alert')).toContainText('Something other than Bellhop answered');
    await expect(signIn).toBeHidden();
    await page.evaluate(() => Object.assign(globalThis, { untouched: true }));
    await page.unroute('**/api/**');
    await expect(link).toBeVisible();
    expect(await page.evaluate(() => 'untouched' in globalThis)).toBe(true);
  }
});
