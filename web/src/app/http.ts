import { BellhopClient, BellhopError } from '@bellhop/client';
import { config } from './config.ts';

/** The one client of this page's broker; the session cookie signs it in. */
export const client = new BellhopClient({ endpoint: config.base.replace(/\/$/, '') });

/** Any route of the broker. Throws BellhopError, or a TypeError when nothing answers. */
export function api<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return client.request<T>(method, path, { ...(body !== undefined && { body }), ...(signal && { signal }) });
}

export const isUnauthorized = (error: unknown) => error instanceof BellhopError && error.status === 401 && error.origin === client.origin;

/** Whether the server said no, so that asking again is useless. */
export const isRefused = (error: unknown) => error instanceof BellhopError && error.status >= 400 && error.status < 500 && !error.passing;

const network = /^network error: (\S+): /;

/** What to show of any thrown value: what happened, how to mend it, and the origin that failed. */
export function describe(error: unknown): { message: string; hint: string; where: string } {
  if (error instanceof BellhopError) return { message: `${error.message} (${error.status})`, hint: error.hint, where: error.origin };
  const message = error instanceof Error ? error.message : '';
  const at = network.exec(message)?.[1];
  if (at) return { message: 'This server cannot be reached', hint: 'Check that it runs and that your connection works', where: at };
  return { message: message || 'Something failed', hint: '', where: '' };
}
