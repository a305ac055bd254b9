import { code, saveNotebook } from './kit/notebook.ts';
import { Receiver } from './kit/receiver.ts';
import { expect, test } from './kit/test.ts';
import { shoot } from './kit/tour.ts';

test('a question in a notebook is answered by the agent’s webhook, with a new version', { tag: '@daily' }, async ({
  bell,
  world,
}) => {
  const receiver = await new Receiver().start();
  try {
    receiver.answer = () => [
      200,
      {
        success: true,
        response: 'It does **not** keep marks together. Here is one that does.',
        codeUpdate: { code: code.replace('reverse(s', 'Reverse(s'), description: 'exported' },
      },
    ];
    const { notebook } = await saveNotebook(world.api, 'answering', receiver.url);
    const { page } = bell;
    await page.goto('/notebooks');
    await page
      .getByRole('link', { name: /Strings of the lobby/ })
      .first()
      .click();
    await page.waitForURL(`**/notebooks/${notebook.id}`);
    await expect(page.getByRole('listitem').filter({ hasText: 'A mistake' })).toContainText('Errors found');
    const good = page.getByRole('listitem').filter({ hasText: 'Reverse a string' });
    await expect(good).toContainText('Type-checks');
    await good.getByRole('link').click();

    await expect(page.getByRole('heading', { name: 'Reverse a string', level: 1 })).toBeVisible();
    await expect(page.getByText(/Checked: this go type-checks .*It was read, not run\.$/)).toBeVisible();
    await page.getByRole('textbox', { name: 'Question' }).fill('Does it keep combining marks together?');
    await page.keyboard.press('Enter');
    const thread = page.getByRole('region', { name: 'Conversation' }).getByRole('log');
    await expect(thread).toContainText('It does not keep marks together.');
    await expect(thread).toContainText('Answered');
    expect(receiver.received[0]?.body).toMatchObject({
      type: 'followup_message',
      message: 'Does it keep combining marks together?',
      sourceCode: code,
    });
    expect(receiver.received[0]?.signature).toMatch(/^v1,/);

    await thread.getByText('Made version 2').click();
    await expect(thread.getByRole('region', { name: 'Changes' })).toContainText('func Reverse(s string)');
    await thread.scrollIntoViewIfNeeded();
    await shoot(page, 'notebook-answered');
    await page.getByRole('button', { name: 'Versions (2)' }).click();
    await expect(page.getByRole('button', { name: /Version 2/ })).toContainText('exported');
  } finally {
    await receiver.stop();
  }
});

test('an answer is announced on other pages, counted, and read once it was shown', async ({ bell, world }) => {
  const receiver = await new Receiver().start();
  try {
    let ready = false;
    receiver.answer = () => (ready ? [200, { success: true, response: 'Ready **now**.' }] : [500, {}]);
    const { source } = await saveNotebook(world.api, 'announcing', receiver.url);
    const { page } = bell;
    await page.goto(`/sources/${source.id}`);
    await page.getByRole('textbox', { name: 'Question' }).fill('Are you ready?');
    await page
      .getByLabel('Files to attach')
      .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('bring the keys') });
    await expect(page.getByRole('list', { name: 'Attached files' })).toContainText('notes.txt');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    const thread = page.getByRole('region', { name: 'Conversation' }).getByRole('log');
    await expect(thread).toContainText('Retrying, ');
    await expect(thread).toContainText('notes.txt (14 bytes)');

    await page.getByRole('link', { name: 'Deliveries' }).click();
    await expect(
      page.getByRole('button', { name: /Are you ready\? about Reverse a string to Claude Code/ }),
    ).toBeVisible();
    ready = true;
    const announced = page.getByText('Claude Code answered your question');
    await expect(announced).toBeVisible({ timeout: 90_000 });
    await announced.hover(); // the message stays while the pointer is on it
    const places = page.getByRole('navigation', { name: 'Pages' });
    await expect(places).toContainText('new in notebooks');
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await expect(thread).toContainText('Ready now.');
    await expect(thread.getByText('New', { exact: true })).toBeVisible();
    await expect(places).not.toContainText('new in notebooks');
    expect(receiver.received.at(-1)?.body).toMatchObject({
      attachments: [{ name: 'notes.txt', content: 'bring the keys' }],
    });
  } finally {
    await receiver.stop();
  }
});

test('a disconnected agent is shown as such, and renewed', async ({ bell, world }) => {
  const { notebook, source } = await saveNotebook(world.api, 'leaving');
  const { page } = bell;
  await page.goto(`/sources/${source.id}`);
  await page.getByRole('button', { name: /^Disconnect/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect', exact: true }).click();
  await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Renew connection' }).click();
  await expect(page.getByText('Connected', { exact: true })).toBeVisible();
  // Another program of the user ends the connection while the page is open.
  await world.api.call('POST', `/api/agent-sessions/${notebook.agentSessionId}/disconnect`);
  await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  await world.api.call('POST', `/api/agent-sessions/${notebook.agentSessionId}/renew`);
  await expect(page.getByText('Connected', { exact: true })).toBeVisible();
});

test('a question that did not arrive says so once', async ({ bell, world }) => {
  const receiver = await new Receiver().start();
  try {
    receiver.answer = () => [404, { error: 'no' }];
    const { source } = await saveNotebook(world.api, 'missing', receiver.url);
    await bell.page.goto(`/sources/${source.id}`);
    await bell.page.getByRole('textbox', { name: 'Question' }).fill('Does it arrive?');
    await bell.page.keyboard.press('Enter');
    await expect(bell.page.getByRole('log').getByText(/Not delivered/)).toHaveText('Not delivered: status 404');
  } finally {
    await receiver.stop();
  }
});
