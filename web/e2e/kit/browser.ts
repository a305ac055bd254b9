import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BrowserContext } from '@playwright/test';

const whole = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Chromium without windows, tabs and notifications, which takes half the processor time. */
const shell = '/usr/bin/chromium-headless-shell';

const installed = (paths: string[]) => process.env.CHROMIUM ?? paths.find((path) => existsSync(path)) ?? 'chromium';

const page = { viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'Europe/Berlin' };

/** The installed Firefox, which is not the one that Playwright has changed. */
export const firefox = {
  ...page,
  browserName: 'firefox' as const,
  channel: 'moz-firefox',
  launchOptions: { executablePath: fileURLToPath(new URL('firefox.mjs', import.meta.url)) },
};

/**
 * Lets Playwright type whole texts into Firefox: what it does over BiDi sets the value in a way that React takes for
 * its own, so that no input is seen. This inserts the text as an editing command, like a paste of a user.
 */
export async function typeTexts(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const insert = (text: string) => void document.execCommand('insertText', false, text);
    Object.defineProperty(globalThis, '__pw_bidiInsertText', { get: () => insert, set: () => undefined });
  });
}

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The smallest installed Chromium, without its background services. */
export const browser = {
  ...page,
  browserName: 'chromium' as const,
  launchOptions: { executablePath: installed([shell, ...whole]), args },
};

/** The Chromium of users, for what the smallest has not. */
export const wholeBrowser = { ...browser, launchOptions: { executablePath: installed(whole), args } };
