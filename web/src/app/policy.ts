/** Read by zod, which the AI SDK brings along, before its first use. */
declare global {
  var __zod_globalConfig: { jitless?: boolean } | undefined;
}

// Unless told, zod tries whether it may make code from strings. It may not here, and each try is a reported breach.
globalThis.__zod_globalConfig = { jitless: true };

export {};
