import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { accessible } from './kit/axe.ts';
import { signIn } from './kit/session.ts';
import { expect, test } from './kit/test.ts';
import { fulfill } from './kit/fulfill.ts';

test('an administrator finds who made and revoked a token', async ({ bell, world }) => {
  const { page } = bell;
  await signIn(world); // the page shows the newest entries only
  await page.goto('/');
  const name = `audited-${randomUUID()}`;
  const token = { name, scopes: ['tasks:read'] };
  const { id } = (await bell.request('POST', '/api/tokens', token)) as { id: string };
  await world.api.call('DELETE', `/api/tokens/${id}`);
  await page.goto('/');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await expect(page.getByRole('table')).toContainText('Signed in');

  const search = page.getByRole('search', { name: 'Filter the audit log' });
  await search.getByLabel('On what').fill(name);
  await search.getByRole('button', { name: 'Search' }).click();
  const rows = page.getByRole('table').getByRole('row');
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText('Token revoked');
  await expect(rows.nth(2)).toContainText('Token created');
  await expect(rows.nth(2)).toContainText(world.email);
  await accessible(page, 'audit log, filtered');

  await search.getByLabel('Act', { exact: true }).selectOption({ label: 'Token created' });
  await search.getByRole('button', { name: 'Search' }).click();
  await expect(rows).toHaveCount(2);
  const started = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download' }).click();
  const download = await started;
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
  expect(download.suggestedFilename()).toBe('bellhop-audit.jsonl');
  expect(lines.map((line) => (JSON.parse(line) as { action: string }).action)).toEqual(['token.created']);

  await search.getByLabel('Who').fill('stranger@example.com');
  await search.getByRole('button', { name: 'Search' }).click();
  await expect(page.getByRole('heading', { name: 'No entry matches' })).toBeVisible();
  await accessible(page, 'audit log without a match');
  await search.getByRole('button', { name: 'Clear' }).click();
  await expect(rows.nth(3)).toBeVisible();
  await expect(search.getByLabel('Who')).toHaveValue('');

  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  for (const [field, days] of [
    ['From', 2],
    ['Until', -2],
  ] as const) {
    await search.getByLabel(field).fill(day(days));
    await search.getByRole('button', { name: 'Search' }).click();
    await expect(page.getByRole('heading', { name: 'No entry matches' })).toBeVisible();
    await search.getByRole('button', { name: 'Clear' }).click();
    await expect(rows.nth(3)).toBeVisible();
  }
});

test('older entries follow on demand', async ({ bell }) => {
  const { page } = bell;
  await page.goto('/');
  for (let i = 0; i < 52; i++) {
    await bell.request('POST', '/api/tokens', { name: `page-${i}`, scopes: ['tasks:read'] });
  }
  await page.goto('/audit');
  const rows = page.getByRole('table').getByRole('row');
  await expect(rows).toHaveCount(51);
  await page.getByRole('button', { name: 'Show older entries' }).click();
  await expect(page.getByRole('table')).toContainText('page-0');
  await expect(page.getByRole('table'), 'the newer entries stay').toContainText('page-51');
  expect(await rows.count()).toBeGreaterThan(52);
});

test('a log that cannot be read is an error with a retry', async ({ bell, guard }) => {
  guard.allow(/503/);
  const { page } = bell;
  await page.route('**/api/audit?*', (route) =>
    fulfill(route, { status: 503, json: { error: 'The database is not available', code: 'unavailable' } }),
  );
  await page.goto('/audit');
  await expect(page.getByRole('alert')).toContainText('The audit log could not be loaded');
  await page.unroute('**/api/audit?*');
  await page.getByRole('alert').getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByRole('table')).toBeVisible();
});

test('only administrators see the audit log', async ({ bell, world }) => {
  const { page } = bell;
  const { user } = await world.api.call<{ user: object }>('GET', '/api/auth/me');
  await page.route('**/api/auth/me', (route) => fulfill(route, { json: { user: { ...user, admin: false } } }));
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto('/audit');
  await expect(page.getByRole('heading', { name: 'Only administrators read the audit log' })).toBeVisible();
  expect(asked, 'the page asks for what it must not show').not.toContain('/api/audit');
  await expect(page.getByRole('link', { name: 'Audit log' })).toBeHidden();
});
