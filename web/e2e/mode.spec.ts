import { expect, test } from './kit/test.ts';
import { fulfill } from './kit/fulfill.ts';

test('the permission mode is chosen with a task, and changed in its header', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  await bell.page.goto('/');
  await bell.page.getByRole('combobox', { name: 'Permissions' }).selectOption('Accept edits');
  await bell.page.getByRole('textbox', { name: 'First message' }).fill('write a.txt: unasked');
  await bell.page.keyboard.press('Enter');
  await bell.page.waitForURL('**/tasks/*');
  await bell.done(); // nothing was asked
  const id = bell.taskId();
  const mode = bell.page.getByRole('combobox', { name: 'Permissions' });
  await expect(mode).toHaveValue('accept-edits');

  await mode.selectOption('Plan only');
  await expect.poll(async () => (await world.api.task(id)).permissionMode).toBe('plan');
  await bell.send('write b.txt: never');
  await bell.done();
  await expect(bell.thread).toContainText('Denied by the rule mode/plan');

  await mode.selectOption('Ask');
  await expect.poll(async () => (await world.api.task(id)).permissionMode).toBe('ask');
  await bell.page.reload();
  await expect(mode).toHaveValue('ask');
  await bell.send('write c.txt: asked');
  await expect(bell.allow).toBeVisible();
});

test('a mode that was not saved is taken back', async ({ bell, guard, world }) => {
  guard.allow(/503/);
  await bell.open(await world.api.newTask('not saved'));
  await bell.page.route('**/api/tasks/*', (route) =>
    route.request().method() === 'PATCH' && route.request().postData()?.includes('permissionMode')
      ? fulfill(route, { status: 503, json: { error: 'The database is not available', code: 'unavailable' } })
      : route.fallback(),
  );
  const mode = bell.page.getByRole('combobox', { name: 'Permissions' });
  await mode.selectOption('Auto');
  await expect(bell.page.getByText('Not saved: The database is not available')).toBeVisible();
  await expect(mode).toHaveValue('ask');
});
