import { defineConfig } from '@playwright/test';
import { browser } from './e2e/kit/browser.ts';

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/results',
  globalSetup: './e2e/kit/setup.ts',
  // A test that passes at the second try has found something at the first.
  retries: 0,
  workers: 2,
  timeout: 30_000,
  expect: { timeout: 10_000 },
  forbidOnly: Boolean(process.env['CI']),
  reporter: [['list']],
  use: { ...browser, trace: 'retain-on-failure' },
});
