import { defineConfig } from '@playwright/test';
import { browser, firefox } from './e2e/kit/browser.ts';

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/results',
  globalSetup: './e2e/kit/setup.ts',
  // Traces take a third of a story's processor time, so only a story that failed is traced: it runs once more for that.
  // What passes then has still found a bug, so the run fails.
  retries: 1,
  failOnFlakyTests: true,
  workers: 2,
  // Generous, because a busy machine must not fail a test.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [['list']],
  // Tests change requests of pages; a service worker would send some of them itself.
  use: {
    serviceWorkers: 'block',
    trace: 'on-first-retry',
    // A picture that moves is drawn sixty times a second.
    contextOptions: { reducedMotion: 'reduce' },
  },
  projects: [
    { name: 'firefox', use: firefox, grep: /@core/ },
    { name: 'chromium', use: browser },
  ],
});
