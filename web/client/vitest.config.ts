import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Generous, because a busy machine must not fail a test. */
const patient = { testTimeout: 60_000, hookTimeout: 120_000 };

const sdk = (major: 5 | 6 | 7, from: { ai: string; react: string }) => ({
  resolve: {
    alias: [
      { find: /^ai$/, replacement: from.ai },
      { find: /^@ai-sdk\/react$/, replacement: from.react },
    ],
  },
  test: {
    name: `ai ${major}`,
    include: ['test/sdk/**/*.test.{ts,tsx}'],
    provide: { major },
    server: { deps: { inline: [/ai/] } },
    ...patient,
  },
});

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'core', include: ['test/unit/**/*.test.ts'], ...patient } },
      sdk(5, { ai: 'ai5', react: 'ai-react5' }),
      sdk(6, { ai: 'ai6', react: 'ai-react6' }),
      sdk(7, { ai: 'ai', react: '@ai-sdk/react' }),
      {
        // The examples import the package by its name.
        resolve: {
          alias: [
            { find: '@bellhop/client/ai-sdk', replacement: fileURLToPath(new URL('src/ai-sdk.ts', import.meta.url)) },
            { find: '@bellhop/client', replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) },
          ],
        },
        test: {
          name: 'live',
          include: ['test/live/**/*.test.{ts,tsx}'],
          globalSetup: ['test/live/setup.ts'],
          ...patient,
        },
      },
      { test: { name: 'package', include: ['test/package/**/*.test.ts'], testTimeout: 240_000, hookTimeout: 240_000 } },
    ],
  },
});
