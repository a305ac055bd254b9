/** Configures zod, a dependency of the AI SDK, before its first use. */
declare global {
  var __zod_globalConfig: { jitless?: boolean } | undefined;
}

// By default zod tests whether eval is allowed. The page's policy forbids it, and each test would report a violation.
globalThis.__zod_globalConfig = { jitless: true };

export {};
