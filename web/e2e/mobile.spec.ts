import { expect, test } from './kit/test.ts';
import { samplesOf, shoot, tour, visit } from './kit/tour.ts';

test.use({ viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true });

test('every page fits a phone at night', async ({ bell, world }) => {
  test.slow();
  await visit(bell.page, tour(bell, await samplesOf(world)), 'phone');
});

test('a task from list to answer on a touch screen', { tag: '@daily' }, async ({ bell }) => {
  const { page } = bell;
  await page.goto('/');
  await page.getByRole('button', { name: 'New task' }).tap();
  await page.getByRole('dialog').getByRole('textbox', { name: 'First message' }).fill('write phone.txt: from a phone');
  await page.getByRole('button', { name: 'Start task' }).tap();
  await expect(bell.allow).toBeEnabled();
  await expect(page.getByRole('region', { name: 'Tasks' })).toBeHidden();
  await shoot(page, 'phone-permission');
  for (const button of [
    bell.allow,
    bell.dock.getByRole('button', { name: /^Deny/ }).first(),
    page.getByRole('button', { name: /Send message|Queue message/ }),
  ]) {
    const box = await button.boundingBox();
    expect(Math.min(box?.height ?? 0, box?.width ?? 0), 'a target for a thumb').toBeGreaterThanOrEqual(44);
  }
  await bell.allow.tap();
  await bell.done();
  await page.getByRole('link', { name: 'Back to tasks' }).tap();
  await expect(page.getByRole('link', { name: /write phone\.txt/ })).toContainText('Done');
});

test('a file is named and chosen by touch', async ({ bell }) => {
  const { page } = bell;
  await page.goto('/');
  await page.getByRole('button', { name: 'New task' }).tap();
  await page.getByRole('dialog').getByRole('textbox', { name: 'First message' }).fill('write thumb.md: one');
  await page.getByRole('button', { name: 'Start task' }).tap();
  await expect(bell.allow).toBeEnabled();
  await bell.allow.tap();
  await bell.done();
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.tap();
  await message.pressSequentially('See @thumb');
  const option = page.getByRole('option', { name: 'thumb.md' });
  await expect(option).toBeVisible();
  expect((await option.boundingBox())?.height ?? 0, 'a target for a thumb').toBeGreaterThanOrEqual(44);
  await option.tap();
  await expect(message).toHaveValue('See @thumb.md ');
});
