import { BellhopError } from '@bellhop/client';
import { expect, it, vi } from 'vitest';
import { lies, tell } from '../../client/test/kit/lies.ts';
import { api, client, describe, isRefused, isUnauthorized } from './http.ts';

const origin = 'http://broker.example';

it('names the server of a failure, and no route', () => {
  const refused = new BellhopError(409, origin, {
    error: 'The task is archived',
    code: 'conflict',
    hint: 'Take it out',
  });
  expect(describe(refused)).toEqual({ message: 'The task is archived (409)', hint: 'Take it out', where: origin });
  const page = new BellhopError(502, origin, {});
  expect(describe(page)).toEqual({ message: `${origin} answered 502 (502)`, hint: '', where: origin });
});

it('names a server that cannot be reached, and no route', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch /api/tasks')));
  const away = describe(await api('GET', '/api/tasks').catch((error: unknown) => error));
  vi.unstubAllGlobals();
  expect(away.message).toBe('This server cannot be reached');
  expect(JSON.stringify(away)).not.toContain('/api');
});

it.each(lies)('no answer of something else signs the user out or is final: $name', async (lie) => {
  const headers = { 'bellhop-broker': 'b1' };
  vi.stubGlobal('fetch', () => tell(lie, () => Response.json({ code: 'unauthorized' }, { status: 401, headers })));
  client.options = { ...client.options, named: true };
  const error: unknown = await api('GET', '/api/auth/me').catch((failure: unknown) => failure);
  vi.unstubAllGlobals();
  client.options = { ...client.options, named: false };
  expect(error).toBeInstanceOf(Error);
  expect([isUnauthorized(error), isRefused(error)]).toEqual([false, false]);
});

it('only the broker’s own code of a 401 signs the user out', () => {
  const refused = (code: string) => new BellhopError(401, client.origin, { code });
  expect(isUnauthorized(refused('unauthorized'))).toBe(true);
  for (const code of ['', 'second_factor', 'FST_JWT_NO_AUTHORIZATION_IN_HEADER'])
    expect(isUnauthorized(refused(code)), code).toBe(false);
});
