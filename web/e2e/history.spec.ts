import { expect, test } from './kit/far.ts';

test('a long conversation is as long before it is laid out as after', async ({ bell, far, world }) => {
  const task = await world.api.newTask('long', { hostId: far.id, agent: 'mischief' });
  for (const prompt of ['work 20', 'prose 8 0', 'work 12', 'say ok', 'work 16', 'prose 12 0']) {
    const last = (await world.api.task(task.id)).lastTurn?.id;
    await world.api.prompt(task.id, prompt);
    await expect.poll(async () => (await world.api.task(task.id)).lastTurn?.id, { timeout: 60_000 }).not.toBe(last);
  }
  await bell.open(task);
  await expect(bell.thread.getByRole('article')).toHaveCount(6);
  const likely = await bell.thread.evaluate((log) =>
    [...log.querySelectorAll('article')].map((turn) =>
      Number.parseFloat(getComputedStyle(turn).containIntrinsicBlockSize.replace(/^auto /, '')),
    ),
  );
  const real = await bell.thread.evaluate((log) =>
    [...log.querySelectorAll('article')].map((turn) => {
      turn.style.contentVisibility = 'visible';
      return turn.getBoundingClientRect().height;
    }),
  );
  for (const [i, height] of real.entries()) {
    expect(likely[i], `turn ${i + 1}, which is ${height} pixels high`).toBeGreaterThan(height * 0.75);
    expect(likely[i], `turn ${i + 1}, which is ${height} pixels high`).toBeLessThan(height * 1.33);
  }
});
