import type { Route } from '@playwright/test';

/** Answers a request as the broker would: the answer names a broker, and repeats the name of the request. */
export function fulfill(route: Route, answer: { status?: number; json: unknown }): Promise<void> {
  const name = route.request().headers()['bellhop-request'] ?? '';
  return route.fulfill({ ...answer, headers: { 'bellhop-broker': 'a-broker-of-tests', 'bellhop-request': name } });
}
