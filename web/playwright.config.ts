import { defineConfig } from '@playwright/test';
import { browser, firefox } from './e2e/kit/browser.ts';

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/results',
  globalSetup: './e2e/kit/setup.ts',
  // A test that fails only at the first try has still found a bug.
  retries: 0,
  workers: 2,
  // Generous, because a busy machine must not fail a test.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [['list']],
  // Tests change requests of pages; a service worker would send some of them itself.
  use: { serviceWorkers: 'block', trace: 'retain-on-failure' },
  projects: [
    { name: 'firefox', use: firefox, grep: /@core/ },
    { name: 'chromium', use: browser },
  ],
});
