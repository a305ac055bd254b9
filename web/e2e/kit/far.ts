import { expect, test as base } from './test.ts';
import type { FarHost } from './world.ts';

export { expect };

/**
 * Tests with a second host. They have a broker of their own, because it may place a task that names no host on either
 * of them.
 */
export const test = base.extend<{ far: FarHost }>({
  world: async ({ withFar }, use) => use(withFar.world),
  far: async ({ withFar }, use) => use(withFar.far),
});
