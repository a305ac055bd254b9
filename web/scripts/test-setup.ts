import { cleanup, configure } from '@testing-library/react';
import { afterAll, vi } from 'vitest';

// waitFor and findBy wait one second by default, which a busy machine needs to render a page.
configure({ asyncUtilTimeout: 30_000 });

// The next file of tests gets modules of its own and an empty page.
afterAll(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.resetModules();
  document.body.replaceChildren();
  localStorage.clear();
  sessionStorage.clear();
});
