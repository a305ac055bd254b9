import { defineConfig } from '@playwright/test';
import { browser } from './e2e/kit/browser.ts';

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/results',
  globalSetup: './e2e/kit/setup.ts',
  // A test that passes at the second try has found something at the first.
  retries: 0,
  workers: 2,
  // Generous, because a machine that does other things too is no fault of the page.
  timeout: 60_000,
  expect: { timeout: 15_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [['list']],
  use: { ...browser, trace: 'retain-on-failure' },
});
