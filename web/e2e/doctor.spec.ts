import { accessible } from './kit/axe.ts';
import { freePort } from './kit/program.ts';
import { expect, test } from './kit/test.ts';
import { fulfill } from './kit/fulfill.ts';

test('the doctor shows what to do about a host that is away, and that it works again', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  const { page } = bell;
  await page.goto('/');
  await page.getByRole('link', { name: 'Doctor' }).click();
  await page.getByText(/checks passed$/).click();
  const works = page.getByRole('list', { name: 'What works' });
  await expect(works).toContainText('database');
  await expect(works).toContainText('It accepts the password.');

  const password = 'never-shown-by-the-doctor';
  const url = `http://127.0.0.1:${await freePort()}`;
  const { id } = await world.api.call<{ id: string }>('POST', '/api/hosts', { name: 'attic', url, password });
  try {
    await page.getByRole('button', { name: 'Check again' }).click();
    const problem = page
      .getByRole('list', { name: 'What needs action' })
      .getByRole('listitem')
      .filter({ hasText: 'attic' });
    await expect(problem).toHaveCount(1);
    await expect(problem).toContainText('Error');
    await expect(problem).toContainText('bellhop hosts update');
    await accessible(page, 'doctor with an error');
    const report = JSON.stringify(await world.api.call('GET', '/api/doctor'));
    expect(report).toContain('attic');
    expect(report).not.toContain(password);
  } finally {
    await world.api.call('DELETE', `/api/hosts/${id}`);
  }
  await page.getByRole('button', { name: 'Check again' }).click();
  await expect(page.getByText('attic')).toBeHidden();
});

test('checks that cannot run are an error with a retry', async ({ bell, guard }) => {
  guard.allow(/503/);
  const { page } = bell;
  await page.route('**/api/doctor', (route) =>
    fulfill(route, {
      status: 503,
      json: { error: 'The database is not available', code: 'unavailable', hint: 'Start it' },
    }),
  );
  await page.goto('/doctor');
  await expect(page.getByRole('alert')).toContainText('The checks could not run');
  await expect(page.getByRole('alert')).toContainText('Start it');
  await page.unroute('**/api/doctor');
  await page.getByRole('alert').getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByText(/checks passed$/)).toBeVisible();
});

test('only administrators see the doctor, the agent hosts and the users', async ({ bell, world }) => {
  const { page } = bell;
  const { user } = await world.api.call<{ user: object }>('GET', '/api/auth/me');
  await page.route('**/api/auth/me', (route) => fulfill(route, { json: { user: { ...user, admin: false } } }));
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  for (const [path, refusal, link, action] of [
    ['/doctor', 'Only administrators run the doctor', 'Doctor', 'Check again'],
    ['/hosts', 'Only administrators manage hosts', 'Agent hosts', 'Add host'],
    ['/users', 'Only administrators manage users', 'Users', 'Show more users'],
  ] as const) {
    await page.goto(path);
    await expect(page.getByRole('heading', { name: refusal })).toBeVisible();
    await expect(page.getByRole('link', { name: link })).toBeHidden();
    await expect(page.getByRole('button', { name: action })).toBeHidden();
  }
  for (const path of ['/api/doctor', '/api/hosts', '/api/users'])
    expect(asked, 'a page asks for what it must not show').not.toContain(path);
});

test('a report without problems says that there is nothing to do', async ({ bell }) => {
  const { page } = bell;
  const findings = [{ check: 'database', level: 'ok', message: 'It answers (sqlite).' }];
  await page.route('**/api/doctor', (route) => fulfill(route, { json: { ok: true, findings } }));
  await page.goto('/doctor');
  await expect(page.getByRole('heading', { name: 'Nothing to do' })).toBeVisible();
  await accessible(page, 'doctor without problems');
});
