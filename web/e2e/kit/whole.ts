import { wholeBrowser } from './browser.ts';
import { test as base } from './test.ts';

/** Tests of what only the whole Chromium has, such as notifications and installed pages. Each starts its own. */
export const test = base.extend({
  context: async ({ playwright }, use) => {
    const browser = await playwright.chromium.launch(wholeBrowser.launchOptions);
    await use(await browser.newContext());
    await browser.close();
  },
});
