import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';

test('every turn keeps its ending, and a failed one is sent again', { tag: '@daily' }, async ({ bell, world }) => {
  const id = await bell.newTask('slow 300');
  await expect(bell.thread).toContainText('1 2 3');
  await bell.stop.click();
  await bell.done();
  await bell.send('fail');
  await expect.poll(async () => (await world.api.task(id)).lastTurn?.finishReason).toBe('error');
  await bell.done();
  const turn = (n: number) => bell.thread.getByRole('article').nth(n);
  const failure = /the demo agent failed/;
  await turn(1).getByRole('button', { name: 'Retry' }).click();
  await expect(bell.thread.getByRole('article')).toHaveCount(3);
  await expect(turn(2).getByRole('button', { name: 'Retry' })).toBeVisible();
  await bell.send('slow 3');
  await expect(turn(3)).toContainText('1 2 3');
  await bell.done();

  for (const reload of [false, true]) {
    if (reload) await bell.page.reload();
    await expect(bell.thread.getByRole('article')).toHaveCount(4);
    await expect(turn(0).getByText('Stopped by you')).toBeVisible();
    for (const failed of [1, 2]) await expect(turn(failed).getByText(failure)).toBeVisible();
    for (const end of ['Stopped by you', failure]) await expect(turn(3).getByText(end)).toBeHidden();
    await expect(bell.thread.getByRole('button', { name: 'Retry' })).toBeHidden();
  }
  const asked = (await world.api.messages(id)).filter((m) => m.role === 'USER').map((m) => m.message);
  expect(asked).toEqual(['slow 300', 'fail', 'fail', 'slow 3']);
  await accessible(bell.page, 'a transcript with endings');
});

test('permissions keep who decided and why; an unanswered one is not denied', async ({ bell }) => {
  await bell.newTask('write kept.txt: yes');
  await bell.allow.click();
  await bell.done();
  await bell.send('run rm -r attic');
  await bell.dock.getByRole('button', { name: 'Deny with reason' }).click();
  await bell.page.keyboard.type('it is the only copy');
  await bell.page.keyboard.press('Enter');
  await bell.done();
  await bell.send('write never.txt: no');
  await expect(bell.allow).toBeEnabled();
  await bell.stop.click();
  await bell.done();

  const turn = (n: number) => bell.thread.getByRole('article').nth(n);
  for (const reload of [false, true]) {
    if (reload) await bell.page.reload();
    await expect(turn(0)).toContainText('Allowed by you');
    await expect(turn(1)).toContainText('Denied by you: it is the only copy');
    await expect(turn(1)).toContainText('denied');
    await expect(turn(2)).toContainText('Not answered: the turn was stopped first');
    await expect(turn(2)).toContainText('not run');
    await expect(turn(2)).not.toContainText(/denied/i);
  }
  await accessible(bell.page, 'a transcript with permissions');
});

test('the composer answers an open question, and the draft of the next message stays', async ({ bell, world }) => {
  const id = await bell.newTask('write draft.txt: kept then ask Which colour?');
  await expect(bell.allow).toBeEnabled();
  await bell.message.fill('the next message');
  await bell.allow.click();
  const answer = bell.page.getByRole('textbox', { name: 'Your answer' });
  await expect(answer).toHaveValue('');
  await expect(bell.dock).toContainText('Which colour?');
  await expect(bell.dock.getByRole('textbox')).toBeHidden();
  await answer.fill('a deep green');
  await bell.page.getByRole('button', { name: 'Send answer' }).click();
  await bell.done();
  await expect(bell.page.getByRole('textbox', { name: 'Message', exact: true })).toHaveValue('the next message');
  for (const reload of [false, true]) {
    if (reload) await bell.page.reload();
    const question = bell.thread.getByRole('region', { name: 'A question of the agent' });
    await expect(question).toHaveCount(1);
    await expect(question).toContainText('Which colour?');
    await expect(question).toContainText('Answered by you: a deep green');
  }
  expect((await world.api.messages(id)).filter((m) => m.role === 'USER')).toHaveLength(1);
});

test('a question that is left open says so for ever', async ({ bell }) => {
  await bell.newTask('ask Are you there?');
  await expect(bell.dock).toContainText('Are you there?');
  await bell.stop.click();
  await bell.done();
  await bell.page.reload();
  const question = bell.thread.getByRole('region', { name: 'A question of the agent' });
  await expect(question).toContainText('Are you there?');
  await expect(question).toContainText('Not answered');
});

test('the changes of a turn appear by themselves, once', async ({ bell }) => {
  await bell.newTask('write counted.txt: one');
  await bell.allow.click();
  await bell.done();
  const changed = bell.thread.getByRole('button', { name: /^1 file changed/ });
  await expect(changed).toBeVisible();
  await bell.send('slow 2');
  await bell.done();
  await bell.page.reload();
  await expect(changed).toHaveCount(1);
  await changed.click();
  await expect(bell.page.getByRole('complementary', { name: 'Changes' })).toContainText('counted.txt');
});

test('Esc stops and pauses the queue, which goes on when the user says so', async ({ bell, world }) => {
  const id = await bell.newTask('write hold.txt: esc'); // the turn is open until its question is answered
  await expect(bell.dock).toBeVisible();
  await bell.send('slow 4');
  const queue = bell.page.getByRole('list', { name: 'Queued messages' });
  await expect(queue.getByRole('listitem')).toHaveCount(1);
  await bell.message.press('Escape');
  await bell.done();
  await expect(bell.page.getByText('The queue is paused')).toBeVisible();
  await bell.page.reload();
  await expect(bell.page.getByText('The queue is paused')).toBeVisible();
  await bell.send('slow 3');
  await bell.done();
  await expect(queue.getByRole('listitem')).toHaveCount(1);
  await accessible(bell.page, 'a paused queue');
  await bell.page.getByRole('button', { name: 'Resume' }).click();
  await expect(queue).toBeHidden();
  await expect(bell.thread).toContainText('1 2 3 4');
  await bell.done();
  const asked = (await world.api.messages(id)).filter((m) => m.role === 'USER').map((m) => m.message);
  expect(asked).toEqual(['write hold.txt: esc', 'slow 3', 'slow 4']);
});
