import { BellhopError } from '@bellhop/client';
import { expect, it, vi } from 'vitest';
import { api, describe } from './http.ts';

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
