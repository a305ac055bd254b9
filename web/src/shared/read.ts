import { BellhopError, type SharedTranscript } from '@bellhop/client';
import { foreignError } from '../../client/src/error.ts';
import { isOfBroker, requestHeader, requestName } from '../../client/src/name.ts';
import { config, urlOf } from '../app/config.ts';

/** The token of the link that the page was opened with. It is in the fragment, which browsers send to no server. */
export const tokenOf = ({ hash }: Pick<Location, 'hash'>): string => hash.replace(/^#/, '');

/** Calls a route for readers of share links, without the cookies of this browser. Throws a BellhopError. */
async function call(path: string, token: string): Promise<Response> {
  const name = requestName();
  const response = await fetch(urlOf(path), {
    headers: { authorization: `Bearer ${token}`, [requestHeader]: name },
    credentials: 'omit',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
  });
  if (config.named && !isOfBroker(response, name)) throw foreignError(response, location.origin);
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  throw new BellhopError(response.status, location.origin, body);
}

/** The page of a shared transcript behind a position. */
export async function readShared(token: string, after: number): Promise<SharedTranscript> {
  return (await (await call(`api/shared?after=${after}`, token)).json()) as SharedTranscript;
}

/** The shared transcript as Markdown. */
export async function exportShared(token: string): Promise<Blob> {
  return (await call('api/shared/export', token)).blob();
}
