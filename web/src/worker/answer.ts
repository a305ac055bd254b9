import { isOfBroker, requestHeader, requestName } from '../../client/src/name.ts';
import type { Notice } from './notice.ts';

/**
 * Sends an answer to a permission with the session of the browser. Returns null when the broker has taken it, otherwise
 * why the question is still to be looked at: the user is signed out, it was answered elsewhere, the broker is away.
 */
export async function answer(
  notice: Notice,
  approved: boolean,
  base: string,
  send: typeof fetch = fetch,
): Promise<string | null> {
  if (!notice.answerable) return 'Open the question to answer it';
  const name = requestName();
  try {
    const response = await send(`${base}api/interactions/${encodeURIComponent(notice.interactionId)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [requestHeader]: name },
      credentials: 'same-origin',
      redirect: 'error',
      body: JSON.stringify({ approved }),
    });
    if (!isOfBroker(response, name)) return 'Something other than the broker answered';
    if (response.ok) return null;
    return reasons[response.status] ?? `The broker refused the answer (${response.status})`;
  } catch {
    return 'The broker cannot be reached';
  }
}

const reasons: Record<number, string> = {
  401: 'You are signed out',
  403: 'You are signed out',
  404: 'The question is gone',
  409: 'The question was answered otherwise',
  410: 'The question has expired',
};
