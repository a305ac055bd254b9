import type { Page } from '@playwright/test';
import { accessible } from './kit/axe.ts';
import type { Api } from './kit/api.ts';
import type { Console } from './kit/console.ts';
import { expect, test } from './kit/far.ts';
import type { FarHost, World } from './kit/world.ts';

/** Opens a task of the ACP agent after its first turn, in which the agent names its commands. */
async function begun(bell: Console, world: World, far: FarHost): Promise<string> {
  const task = await world.api.newTask('composed', { hostId: far.id, agent: 'scripted' });
  await bell.open(task);
  await bell.send('hello');
  await expect(bell.thread).toContainText('was sent: hello');
  await bell.done();
  return task.id;
}

const listed = (page: Page) => page.getByRole('listbox', { name: 'Commands' }).getByRole('option');
const stored = async (api: Api, id: string) => (await api.messages(id)).filter((m) => m.role === 'USER');

test('a slash completes the commands that the agent named', async ({ bell, world, far }) => {
  await begun(bell, world, far);
  const { page, message } = bell;
  await message.press('/');
  await expect(listed(page)).toHaveText(['/planPlans the work without doing it', '/web wordsSearches the web']);
  await accessible(page, 'commands');
  await message.press('Escape');
  await expect(listed(page)).toHaveCount(0);
  await message.fill('');
  await message.pressSequentially('/w');
  await expect(listed(page)).toHaveText([/^\/web words/]);
  await message.press('Enter');
  await expect(message).toHaveValue('/web ');
  await message.pressSequentially('cats');
  await message.press('Enter');
  await expect(bell.thread).toContainText('ran the command web with “cats”');

  await message.pressSequentially('/plan');
  await expect(listed(page)).toHaveText([/^\/plan/]);
  await message.press('Enter');
  await expect(bell.thread).toContainText('ran the command plan with “”');
});

test('an unknown command is a text, and a new task knows the commands of the last one', async ({
  bell,
  world,
  far,
}) => {
  await begun(bell, world, far);
  const { page, message } = bell;
  await bell.send('/nothing of this name');
  await expect(bell.thread).toContainText('was sent: /nothing of this name');
  await bell.done();

  await page.goto('/');
  const first = page.getByRole('textbox', { name: 'First message' });
  await first.pressSequentially('/');
  await expect(listed(page)).toHaveCount(0);
  await first.fill('');
  await page.getByRole('combobox', { name: 'Agent' }).selectOption('scripted');
  await first.pressSequentially('/pl');
  await listed(page).first().click();
  await expect(first).toHaveValue('/plan ');
  await expect(first).toBeFocused();
  await first.press('Enter');
  await page.waitForURL('**/tasks/*');
  await expect(bell.thread).toContainText('ran the command plan with “”');
  await expect(message).toBeVisible();
});

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);

test('images and texts are attached by button, paste and drop, and stay in the transcript by name', async ({
  bell,
  world,
  far,
}) => {
  const id = await begun(bell, world, far);
  const { page, message } = bell;
  const attach = page.getByRole('button', { name: 'Attach files' });
  await expect(attach).toHaveAttribute('title', 'Attach files: images and texts, up to 6 of 5 MiB, 8 MiB in all');
  const chooser = page.waitForEvent('filechooser');
  await attach.click();
  await (await chooser).setFiles([{ name: 'dot.png', mimeType: 'image/png', buffer: png }]);
  const attached = page.getByRole('list', { name: 'Attachments' }).getByRole('listitem');
  await expect(attached).toHaveCount(1);
  await give(page, 'drop', 'notes.md', '# Notes\n\nthe limit is 7');
  await expect(attached).toHaveCount(2);
  await give(page, 'paste', 'more.go', 'package more');
  await expect(attached).toHaveText(['', 'notes.md23 bytes', 'more.go12 bytes']);
  await accessible(page, 'attachments');
  await page.getByRole('button', { name: 'Remove more.go' }).click();
  await expect(attached).toHaveCount(2);
  await message.fill('look at these');
  await message.press('Enter');
  await expect(bell.thread).toContainText('was sent: look at these');
  await expect(bell.thread).toContainText('image image/png of 92 characters');
  await expect(bell.thread).toContainText('Attached document notes.md:');
  await expect(bell.thread).toContainText('the limit is 7');
  await bell.done();

  const last = (await stored(world.api, id)).at(-1);
  expect(last?.artifacts.map((a) => [a.type, a.content.name])).toEqual([
    ['ATTACHMENT', 'dot.png'],
    ['ATTACHMENT', 'notes.md'],
  ]);
  await page.reload();
  await expect(bell.thread.getByText('notes.md', { exact: true })).toBeVisible();
  await expect(bell.thread.getByText('dot.png', { exact: true })).toBeVisible();
});

test('what the agent does not take is refused with the reason, and nothing of the message is lost', async ({
  bell,
  world,
  far,
}) => {
  await begun(bell, world, far);
  const { page, message } = bell;
  await message.fill('keep this');
  await give(page, 'drop', 'plan.pdf', '%PDF-1.7 a plan');
  await expect(page.getByText('plan.pdf: scripted takes no PDFs')).toBeVisible();
  await give(page, 'drop', 'run.bin', 'ELF\u0000\u0001');
  await expect(page.getByText(/^run\.bin is neither an image .* nor a PDF nor a text in UTF-8$/)).toBeVisible();
  await give(page, 'drop', 'big.txt', 'x'.repeat((5 << 20) + 1));
  await expect(page.getByText('big.txt is larger than 5 MiB')).toBeVisible();
  await expect(page.getByRole('list', { name: 'Attachments' })).toHaveCount(0);
  await expect(message).toHaveValue('keep this');
});

test('a queued message keeps its files', async ({ bell, world, far }) => {
  const task = await world.api.newTask('queued files', { hostId: far.id, agent: 'mischief' });
  await bell.open(task);
  await bell.send('drip 3000 100');
  await expect(bell.thread).toContainText('w1');
  await give(bell.page, 'drop', 'plan.pdf', '%PDF-1.7 a plan');
  await expect(bell.page.getByRole('list', { name: 'Attachments' })).toContainText('plan.pdf');
  await bell.send('say read it');
  await expect(bell.page.getByRole('list', { name: 'Queued messages' })).toContainText('say read it (plan.pdf)');
  await bell.page.getByRole('button', { name: 'Send queued message now' }).click();
  await expect(bell.thread).toContainText('read it');
  await expect(bell.thread.getByText('plan.pdf', { exact: true })).toBeVisible();
});

/** Pastes a file into the message, or drops it there. */
async function give(page: Page, how: 'paste' | 'drop', name: string, text: string) {
  const data = await page.evaluateHandle(
    ([fileName, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], fileName));
      return transfer;
    },
    [name, text] as const,
  );
  const field = page.locator('[data-composer]');
  if (how === 'drop') await field.dispatchEvent('drop', { dataTransfer: data });
  else
    await field.evaluate(
      (element, clipboardData) =>
        element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })),
      data,
    );
}
