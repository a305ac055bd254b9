import { request } from 'node:http';
import type { BrowserContext } from '@playwright/test';

interface Account {
  broker: string;
  console: string;
  email: string;
  password: string;
}

const sessions = new WeakMap<Account, Promise<Cookies>>();

/** The cookies of a user, who signs in once. */
export function sessionOf(account: Account): Promise<Cookies> {
  const session = sessions.get(account) ?? signIn(account);
  sessions.set(account, session);
  return session;
}

export type Cookies = Parameters<BrowserContext['addCookies']>[0];

/** Posts to the broker as a browser at the host name of a URL: fetch can neither resolve the console's nor set Host. */
async function post(account: Account, path: string, body: object, at: string, cookies: Cookies = []) {
  return new Promise<{ cookies: string[]; text: string }>((resolve, reject) => {
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const call = request(`${account.broker}${path}`, {
      method: 'POST',
      headers: { host: new URL(at).host, 'content-type': 'application/json', ...(cookie && { cookie }) },
    });
    call.once('error', reject);
    call.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.once('error', reject);
      response.once('end', () => resolve({ cookies: response.headers['set-cookie'] ?? [], text }));
    });
    call.end(JSON.stringify(body));
  });
}

/** Signs a user in as a browser at the host name of a URL, the console's unless given, and returns the cookies. */
export async function signIn(account: Account, at = account.console): Promise<Cookies> {
  const { email, password } = account;
  const { cookies } = await post(account, '/api/auth/login', { email, password }, at);
  if (cookies.length === 0) throw new Error(`no cookie from ${at}`);
  return cookies.map((cookie) => {
    const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split('=');
    const secure = cookie.includes('; Secure');
    return { name, value, domain: new URL(at).hostname, path: '/', httpOnly: true, secure, sameSite: 'Lax' };
  });
}

/** Creates an API token of a user that has all rights of the user that a token can have. */
export async function createToken(account: Account): Promise<string> {
  const scopes = ['tasks:read', 'tasks:write', 'notebooks', 'hosts', 'webhooks', 'admin'];
  const session = await sessionOf(account);
  const { text } = await post(account, '/api/tokens', { name: 'tests', scopes }, account.console, session);
  const { token } = JSON.parse(text) as { token?: string };
  if (!token) throw new Error(`no token for ${account.email}: ${text}`);
  return token;
}
