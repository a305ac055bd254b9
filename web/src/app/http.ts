import { BellhopClient, BellhopError } from '@bellhop/client';
import { config } from './config.ts';

/** The one client of this page's broker; the session cookie signs it in. */
export const client = new BellhopClient({
  endpoint: config.base.replace(/\/$/, ''),
  named: config.named,
});

/** Calls any route of the broker. Throws a BellhopError, or a TypeError when the broker cannot be reached. */
export function api<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return client.request<T>(method, path, { ...(body !== undefined && { body }), ...(signal && { signal }) });
}

/** Whether the broker says that no user is signed in. A gateway's 401 does not have its code. */
export const isUnauthorized = (error: unknown) =>
  error instanceof BellhopError &&
  error.status === 401 &&
  error.code === 'unauthorized' &&
  error.origin === client.origin;

/** Whether the broker cannot be reached, or something else answers in its place. */
export const isAway = (error: unknown) => (error instanceof BellhopError ? error.foreign : error instanceof TypeError);

/** Whether the password was right, and the code of the second factor is missing or wrong. */
export const needsCode = (error: unknown) => error instanceof BellhopError && error.code === 'second_factor';

/** Whether the server rejected the request, so that repeating it is useless. */
export const isRefused = (error: unknown) =>
  error instanceof BellhopError && error.status >= 400 && error.status < 500 && !error.passing;

const network = /^network error: (\S+): /;

/** Describes any thrown value for users: what happened, how to fix it, and which origin failed. */
export function describe(error: unknown): { message: string; hint: string; where: string } {
  if (error instanceof BellhopError)
    return { message: `${error.message} (${error.status})`, hint: error.hint, where: error.origin };
  const message = error instanceof Error ? error.message : '';
  const at = network.exec(message)?.[1];
  if (at)
    return {
      message: 'This server cannot be reached',
      hint: 'Check that it runs and that your connection works',
      where: at,
    };
  return { message: message || 'Something failed', hint: '', where: '' };
}
