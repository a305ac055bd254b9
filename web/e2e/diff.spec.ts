import { expect, test } from './kit/test.ts';
import { shoot } from './kit/tour.ts';

test('what a turn changed is shown by file, with counts, unified and split', async ({ bell }) => {
  await bell.newTask('write diff.txt: a line that is new');
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.press('Control+Enter');
  await bell.done();

  await bell.page.getByRole('button', { name: 'Changes', exact: true }).click();
  const panel = bell.page.getByRole('complementary', { name: 'Changes' });
  await expect(panel).toContainText('diff.txt');
  await expect(panel.getByRole('region', { name: 'Changes in diff.txt' })).toContainText('a line that is new');
  await expect(panel).toContainText('+1 lines added');
  await panel.getByRole('button', { name: 'Split' }).click();
  await expect(panel.getByRole('region', { name: 'Changes in diff.txt' })).toContainText('a line that is new');
  await shoot(bell.page, 'diff');
  await bell.page.reload();
  await expect(panel.getByRole('button', { name: 'Split' })).toHaveAttribute('aria-pressed', 'true');
});
