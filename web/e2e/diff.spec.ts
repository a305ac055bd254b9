import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';
import { shoot } from './kit/tour.ts';

test('the changes of a turn are shown by file, with counts, unified and split', async ({ bell }) => {
  await bell.newTask('write lobby.md: # Lobby\n\nOpen day and night.\nKeys are at the desk.');
  await expect(bell.allow).toBeEnabled();
  await bell.page.keyboard.press('Control+Enter');
  await bell.done();

  await bell.page.getByRole('button', { name: 'Changes', exact: true }).click();
  const panel = bell.page.getByRole('complementary', { name: 'Changes' });
  await expect(panel).toContainText('lobby.md');
  await expect(panel.getByRole('region', { name: 'Changes in lobby.md' })).toContainText('Keys are at the desk.');
  await expect(panel).toContainText('+4 lines added');
  await panel.getByRole('button', { name: 'Split' }).click();
  await expect(panel.getByRole('region', { name: 'Changes in lobby.md' })).toContainText('Keys are at the desk.');
  await accessible(bell.page, 'changes');
  await shoot(bell.page, 'diff');
  await bell.page.reload();
  await expect(panel.getByRole('button', { name: 'Split' })).toHaveAttribute('aria-pressed', 'true');
});
