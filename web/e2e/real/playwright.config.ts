import { defineConfig } from '@playwright/test';
import base from '../../playwright.config.ts';
import { browser } from '../kit/browser.ts';

/** Stories with a real agent. `make test-agents` installs the agents and runs them. */
export default defineConfig({
  ...base,
  testDir: '.',
  testMatch: '*.real.ts',
  outputDir: '../results/real',
  globalSetup: './setup.ts',
  projects: [{ name: 'chromium', use: browser }],
  workers: 1,
  timeout: 600_000,
  expect: { timeout: 120_000 },
});
