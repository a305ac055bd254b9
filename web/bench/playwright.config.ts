import { defineConfig } from '@playwright/test';
import { wholeBrowser } from '../e2e/kit/browser.ts';

export default defineConfig({
  testDir: '.',
  testMatch: '*.bench.ts',
  outputDir: '../e2e/results/bench',
  globalSetup: '../e2e/kit/setup.ts',
  retries: 0,
  // Measurements in parallel would disturb each other.
  workers: 1,
  timeout: 300_000,
  reporter: [['./report.ts']],
  use: {
    ...wholeBrowser,
    launchOptions: {
      ...wholeBrowser.launchOptions,
      args: [...wholeBrowser.launchOptions.args, '--enable-precise-memory-info', '--js-flags=--expose-gc'],
    },
  },
});
