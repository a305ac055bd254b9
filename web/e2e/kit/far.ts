import { expect, startMs, test as base } from './test.ts';
import { openFarHost, type FarHost } from './world.ts';

export { expect };

/**
 * Tests with a second host. They run in a world of their own, because the broker may place a task that names no
 * host on either of them.
 */
export const test = base.extend<object, { far: FarHost }>({
  far: [
    async ({ world }, use) => {
      const far = await openFarHost(world);
      await use(far);
      await far.stop();
    },
    { scope: 'worker', timeout: startMs },
  ],
});
