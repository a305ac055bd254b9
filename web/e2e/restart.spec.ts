import { expect, test } from './kit/test.ts';
import { fulfill } from './kit/fulfill.ts';

test('the agent is restarted from the header; an open turn ends only after a question', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  const id = await bell.newTask('write hold.txt: restart'); // the turn is open until its question is answered
  await expect(bell.dock).toBeVisible();
  const restart = async () => {
    await bell.page.getByRole('button', { name: 'Actions for this task' }).click();
    await bell.page.getByRole('menuitem', { name: 'Restart agent' }).click();
  };
  const answer = () => bell.page.waitForResponse((r) => new URL(r.url()).pathname.endsWith('/restart'));
  await restart();
  const dialog = bell.page.getByRole('dialog', { name: 'Restart the agent?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect((await world.api.task(id)).openTurn).not.toBeNull();

  await restart();
  const first = answer();
  await dialog.getByRole('button', { name: 'End the turn and restart' }).click();
  await first;
  await expect(bell.thread).toContainText('The agent was restarted during this turn');
  await bell.done();
  expect((await world.api.task(id)).lastTurn?.reason).toBe('agent-restarted');

  const second = answer();
  await restart(); // nothing is open: no question
  expect((await second).ok()).toBe(true);
  await expect(bell.page.getByText('The agent is restarted.').last()).toBeVisible();
  await bell.send('slow 5');
  await bell.done();
  await expect(bell.thread).toContainText('1 2 3 4 5');
});

test('a restart that the host refuses says why', async ({ bell, guard, world }) => {
  guard.allow(/503/);
  await bell.open(await world.api.newTask('not restarted'));
  await bell.page.route('**/restart', (route) =>
    fulfill(route, { status: 503, json: { error: 'The agent host is not reachable', code: 'unavailable' } }),
  );
  await bell.page.getByRole('button', { name: 'Actions for this task' }).click();
  await bell.page.getByRole('menuitem', { name: 'Restart agent' }).click();
  await expect(bell.page.getByText('Not restarted: The agent host is not reachable')).toBeVisible();
});
