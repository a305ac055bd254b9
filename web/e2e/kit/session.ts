import { request } from 'node:http';
import type { BrowserContext } from '@playwright/test';
import type { World } from './world.ts';

export type Cookies = Parameters<BrowserContext['addCookies']>[0];

/** Signs a user in as a browser at the host name of a URL, the console's unless given, and returns the cookies. */
export async function signIn(world: World, at = world.console): Promise<Cookies> {
  const { host, hostname } = new URL(at);
  const header = await new Promise<string[]>((resolve, reject) => {
    // fetch can neither resolve the console's name nor set Host.
    const login = request(`${world.broker}/api/auth/login`, {
      method: 'POST',
      headers: { host, 'content-type': 'application/json' },
    });
    login.once('error', reject);
    login.once('response', (response) => {
      response.resume();
      resolve(response.headers['set-cookie'] ?? []);
    });
    login.end(JSON.stringify({ email: world.email, password: world.password }));
  });
  if (header.length === 0) throw new Error(`no cookie from ${at}`);
  return header.map((cookie) => {
    const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split('=');
    const secure = cookie.includes('; Secure');
    return { name, value, domain: hostname, path: '/', httpOnly: true, secure, sameSite: 'Lax' };
  });
}
