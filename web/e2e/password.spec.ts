import { createHmac } from 'node:crypto';
import { accessible } from './kit/axe.ts';
import { sessionOf } from './kit/session.ts';
import { expect, test } from './kit/test.ts';
import { shoot } from './kit/tour.ts';

test('a changed password ends the other sessions', async ({ browser, context, guard, newcomer: world, page }) => {
  // The broker cuts the event streams of the sessions that it ends.
  guard.allow(/40[013]/, /net::ERR_INCOMPLETE_CHUNKED_ENCODING/);
  const other = await browser.newPage();
  await context.addCookies(await sessionOf(world));
  await page.goto('/');
  await expect(page.getByRole('link', { name: 'Settings' })).toBeVisible();
  await other.goto(world.console);
  await other.getByLabel('E-mail').fill(world.email);
  await other.getByLabel('Password').fill(world.password);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await expect(other.getByRole('link', { name: 'Settings' })).toBeVisible();

  await page.getByRole('link', { name: 'Settings' }).click();
  const form = page.getByRole('form', { name: 'Change your password' });
  const submit = async (current: string, next: string) => {
    await form.getByLabel('Current password').fill(current);
    await form.getByLabel('New password').fill(next);
    await form.getByRole('button', { name: 'Change password' }).click();
  };
  await submit('not the password', 'four words in the lobby');
  await expect(form.getByRole('alert')).toContainText('The current password is wrong');
  await submit(world.password, 'qwerty123');
  await expect(form.getByRole('alert')).toContainText('one of the common ones');
  await accessible(page, 'settings with an error');
  await submit(world.password, 'four words in the lobby');
  await expect(page.getByText('Your password is changed.')).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible();

  await other.reload();
  await expect(other.getByRole('heading', { name: 'Sign in to Bellhop' })).toBeVisible();
  await other.getByLabel('E-mail').fill(world.email);
  await other.getByLabel('Password').fill('four words in the lobby');
  await other.getByRole('button', { name: 'Sign in' }).click();
  await expect(other.getByRole('link', { name: 'Settings' })).toBeVisible();
  await other.close();
});

test('a second factor is turned on, asked for, and turned off', async ({ context, guard, newcomer: world, page }) => {
  guard.allow(/40[013]/);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  await context.addCookies(await sessionOf(world));
  await page.goto('/');
  await expect(page.getByRole('button', { name: 'New task' }).first()).toBeVisible();
  await page.goto('/settings');
  await page.getByRole('button', { name: 'Turn on the second factor' }).click();
  const enrol = page.getByRole('form', { name: 'Turn on the second factor' });
  await enrol.getByLabel('Your password').fill(world.password);
  await enrol.getByRole('button', { name: 'Continue' }).click();
  await expect(enrol.getByRole('img', { name: /QR code/ })).toBeVisible();
  await accessible(page, 'enrolment of a second factor');
  await shoot(page, 'phone-second-factor');
  const secret = (await enrol.getByText(/^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/).textContent()) ?? '';
  await enrol.getByLabel('Code that the app shows').fill('000000');
  await enrol.getByRole('button', { name: 'Turn on' }).click();
  await expect(enrol.getByRole('alert')).toContainText('The code is wrong');
  await enrol.getByLabel('Code that the app shows').fill(codeOf(secret));
  await enrol.getByRole('button', { name: 'Turn on' }).click();
  const codes = page.getByRole('region', { name: 'Recovery codes' }).getByRole('listitem');
  await expect(codes).toHaveCount(10);
  await accessible(page, 'recovery codes');
  const [first = '', second = ''] = await codes.allTextContents();
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await expect(page.getByText('10 recovery codes are left')).toBeVisible();

  await page.getByRole('button', { name: 'Sign out' }).last().click();
  await page.getByLabel('E-mail').fill(world.email);
  await page.getByLabel('Password').fill(world.password);
  await page.keyboard.press('Enter');
  await expect(page.getByLabel('Code of your authenticator app')).toBeFocused();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await accessible(page, 'the second step of signing in');
  await shoot(page, 'phone-signin-code');
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await page.getByLabel('Recovery code').fill('abcd-efgh-ijkl-mnop');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert')).toContainText('The code is wrong');
  await page.getByLabel('Recovery code').fill(first);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'New task' }).first()).toBeVisible();

  await page.goto('/settings');
  await expect(page.getByText('9 recovery codes are left')).toBeVisible();
  await page.getByRole('button', { name: 'Turn off' }).click();
  const off = page.getByRole('form', { name: 'Turn off the second factor' });
  await off.getByLabel('Password').fill(world.password);
  await off.getByLabel('Code').fill(second);
  await off.getByRole('button', { name: 'Turn off' }).click();
  await expect(page.getByRole('button', { name: 'Turn on the second factor' })).toBeVisible();
});

/** What an authenticator app shows for a secret (RFC 6238). */
function codeOf(secret: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret.replaceAll(' ', '')].map((c) => letters.indexOf(c).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac('sha1', key).update(step).digest();
  return String((mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}
