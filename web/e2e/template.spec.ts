import { accessible } from './kit/axe.ts';
import { expect, test } from './kit/test.ts';

for (const { name, viewport, colorScheme } of [
  { name: 'on a desktop', viewport: { width: 1280, height: 800 }, colorScheme: 'light' as const },
  { name: 'on a phone, dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
]) {
  test(`a template is made of a task, changed, used with variables, and deleted, ${name}`, async ({ bell, world }) => {
    const { page } = bell;
    await page.emulateMedia({ colorScheme });
    await bell.newTask('list docs');
    await bell.done();
    await page.setViewportSize(viewport);
    await page.getByRole('button', { name: 'Actions for this task' }).click();
    await page.getByRole('menuitem', { name: 'Save as template' }).click();
    const form = page.getByRole('dialog', { name: 'Save as a template' });
    await expect(form.getByRole('textbox', { name: 'Prompt' })).toHaveValue('list docs');
    await form.getByRole('textbox', { name: 'Name' }).fill('Count');
    await form.getByRole('textbox', { name: 'Prompt' }).fill('slow {{n}}');
    const variable = form.getByRole('group', { name: 'n' });
    await variable.getByRole('textbox', { name: 'Choices, one a line' }).fill('2\n3');
    await variable.getByRole('checkbox', { name: 'Required' }).check();
    await accessible(page, `the form of a template ${name}`);
    await form.getByRole('button', { name: 'Save template' }).click();
    await expect(form).toBeHidden();

    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(world.console);
    const home = page.getByRole('main');
    await home.getByRole('combobox', { name: 'Template' }).selectOption('Count');
    await expect(home.getByRole('button', { name: 'Use template' })).toBeDisabled();
    await home.getByRole('combobox', { name: 'n (required)' }).selectOption('3');
    await accessible(page, `the variables of a template ${name}`);
    await home.getByRole('button', { name: 'Use template' }).click();
    const message = home.getByRole('textbox', { name: 'First message' });
    await expect(message).toHaveValue('slow 3');
    await message.press('Enter');
    await page.waitForURL('**/tasks/*');
    await bell.done();
    await expect(bell.thread).toContainText('1 2 3');

    await page.goto(world.console);
    await home.getByRole('button', { name: 'Edit templates' }).click();
    await page.getByRole('button', { name: 'Edit Count' }).click();
    const editor = page.getByRole('dialog', { name: 'Edit the template' });
    await editor.getByRole('textbox', { name: 'Name' }).fill('Count <b>');
    await editor.getByRole('button', { name: 'Save template' }).click();
    await page.getByRole('button', { name: 'Delete: Delete Count <b>?' }).click();
    await page.getByRole('button', { name: 'Delete template' }).click();
    await expect(page.getByText('There is no template yet.')).toBeVisible();
  });
}

test('a template that names an agent that is gone says so, and another one is chosen', async ({ bell, world }) => {
  const { id } = await world.api.call<{ id: string }>('POST', '/api/templates', {
    name: 'Old',
    prompt: 'list',
    agent: 'departed',
    project: 'lost',
  });
  await bell.page.goto(world.console);
  const home = bell.page.getByRole('main');
  await home.getByRole('combobox', { name: 'Template' }).selectOption('Old');
  await home.getByRole('button', { name: 'Use template' }).click();
  await expect(home.getByRole('status').filter({ hasText: 'gone' })).toHaveText(
    'The agent departed of the template is gone. The project lost of the template is gone. Choose another one below.',
  );
  await home.getByRole('combobox', { name: 'Agent' }).selectOption('demo');
  await home.getByRole('textbox', { name: 'First message' }).press('Enter');
  await bell.page.waitForURL('**/tasks/*');
  await bell.done();
  await world.api.call('DELETE', `/api/templates/${id}`);
});
