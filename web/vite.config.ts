import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { licenses } from './scripts/licenses.ts';
import { worker } from './scripts/worker.ts';

const client = (file: string) => fileURLToPath(new URL(`./client/src/${file}`, import.meta.url));

export default defineConfig({
  // Relative, so that one build serves under any base path.
  base: './',
  plugins: [react(), licenses(), worker()],
  resolve: {
    alias: [
      { find: '@bellhop/client/ai-sdk', replacement: client('ai-sdk.ts') },
      { find: '@bellhop/client', replacement: client('index.ts') },
    ],
  },
  build: {
    target: 'es2023',
    // The page's policy refuses data: fonts, and one place for assets is easier to cache.
    assetsInlineLimit: 0,
    manifest: 'manifest.json',
    // The page of a shared task has none of the console's code for users who are signed in.
    // A slow machine is no fault of the build: how long plugins take is not printed.
    rollupOptions: { input: { index: 'index.html', shared: 'shared.html' }, checks: { bundlerTimings: false } },
    modulePreload: { polyfill: false },
  },
  server: {
    host: '127.0.0.1',
    proxy: {
      '/api': {
        target: process.env.BELLHOP_URL ?? 'http://127.0.0.1:7700',
        changeOrigin: true,
        headers: { origin: process.env.BELLHOP_URL ?? 'http://127.0.0.1:7700' },
      },
    },
  },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    restoreMocks: true,
    // A page for each file would take most of the time; scripts/test-setup.ts leaves the next file an empty one.
    isolate: false,
    setupFiles: ['scripts/test-setup.ts'],
    // Generous, because a busy machine must not fail a test.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    css: { modules: { classNameStrategy: 'non-scoped' } },
  },
});
