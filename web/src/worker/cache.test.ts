import { beforeEach, expect, it, vi } from 'vitest';
import { lies, tell } from '../../client/test/kit/lies.ts';

const base = 'https://bell.example/base/';
const stores = new Map<string, Map<string, Response>>();
const network = vi.fn<(request: Request | string) => Promise<Response>>();
const posted: unknown[] = [];

/** The caches of a browser, as far as the worker uses them. */
function open(name: string) {
  const entries = stores.get(name) ?? new Map<string, Response>();
  stores.set(name, entries);
  return Promise.resolve({
    match: (url: string) => Promise.resolve(entries.get(url)?.clone()),
    put: (url: string, response: Response) => {
      entries.delete(url); // an entry that is stored again becomes the latest
      entries.set(url, response);
      return Promise.resolve();
    },
    keys: () => Promise.resolve([...entries.keys()].map((url) => ({ url }))),
    delete: (request: { url: string } | string) =>
      Promise.resolve(entries.delete(typeof request === 'string' ? request : request.url)),
    addAll: (urls: string[]) => {
      for (const url of urls) entries.set(url, new Response(url));
      return Promise.resolve();
    },
  });
}

vi.stubGlobal('FILES', ['assets/a-1.js', 'icon.svg']);
vi.stubGlobal('BUILD', 'two');
vi.stubGlobal('self', {
  location: { href: `${base}sw.js` },
  clients: { get: () => Promise.resolve({ postMessage: (message: unknown) => posted.push(message) }) },
});
vi.stubGlobal('caches', {
  open,
  delete: (name: string) => Promise.resolve(stores.delete(name)),
  keys: () => Promise.resolve([...stores.keys()]),
});
vi.stubGlobal('fetch', network);
const worker = await import('./cache.ts');

beforeEach(async () => {
  await worker.forget();
  stores.clear();
  network.mockReset();
  posted.length = 0;
});

/** Gives the worker a request. `null`: it leaves the request to the browser. */
async function request(path: string, options: { method?: string; mode?: string; aborted?: boolean } = {}) {
  const headers = new Headers(options.mode === 'navigate' ? {} : { 'bellhop-request': 'r1' });
  let answer: Promise<Response> | null = null;
  const work: Promise<unknown>[] = [];
  worker.respond({
    request: {
      url: new URL(path, base).href,
      method: options.method ?? 'GET',
      mode: options.mode ?? 'cors',
      headers,
      signal: { aborted: options.aborted ?? false },
    },
    clientId: 'tab',
    respondWith: (response: Promise<Response>) => (answer = response),
    waitUntil: (promise: Promise<unknown>) => work.push(promise),
  } as unknown as FetchEvent);
  if (answer === null) return null;
  try {
    const response = await (answer as Promise<Response>);
    for (let i = 0; i < work.length; i++) await work[i];
    return await response.text();
  } catch (error) {
    return String(error);
  }
}

const ofBroker = (body: string, type: string, status = 200) =>
  new Response(body, { status, headers: { 'content-type': type, 'bellhop-broker': 'b1', 'bellhop-request': 'r1' } });
const online = (body: string, type = 'application/json', status = 200) =>
  network.mockImplementation(() => Promise.resolve(ofBroker(body, type, status)));
const offline = () => network.mockImplementation(() => Promise.reject(new TypeError('offline')));
const seen = () => [...(stores.get('bellhop-seen')?.keys() ?? [])].map((url) => url.slice(base.length));

it('the pages of a share link and of the API are not kept in place of the console', async () => {
  online('a shared task', 'text/html');
  for (const path of ['shared', 'shared.html', 'openapi', 'openapi.json', 'openapi.yaml'])
    expect(await request(path, { mode: 'navigate' }), path).toBeNull();
  online('the console', 'text/html');
  expect(await request('tasks/shared', { mode: 'navigate' })).toBe('the console');
  expect(seen()).toEqual(['']);
});

it('a page is that of the present release while the broker can be reached', async () => {
  online('release one', 'text/html');
  expect(await request('tasks/1', { mode: 'navigate' })).toBe('release one');
  online('release two', 'text/html');
  expect(await request('tasks/1', { mode: 'navigate' })).toBe('release two');
  offline();
  expect(await request('inbox', { mode: 'navigate' })).toBe('release two');
});

it('a new build replaces the files of the former one', async () => {
  await open('bellhop-files-one');
  await worker.install();
  await worker.activate();
  expect([...stores.keys()]).toEqual(['bellhop-files-two']);
  offline();
  expect(await request('assets/a-1.js')).toBe(`${base}assets/a-1.js`);
});

it('what was seen is shown without the broker, and the page knows it', async () => {
  online('{"tasks":[]}');
  await request('api/tasks?limit=50');
  offline();
  expect(await request('api/tasks?limit=50')).toBe('{"tasks":[]}');
  expect(await request('api/tasks?limit=51')).toBe('TypeError: offline');
  online('{"tasks":[1]}');
  expect(await request('api/tasks?limit=50')).toBe('{"tasks":[1]}');
  expect(posted).toEqual([
    { type: 'offline', offline: true },
    { type: 'offline', offline: false },
  ]);
});

it('a request that its page gave up is not answered', async () => {
  online('{}');
  await request('api/tasks');
  offline();
  expect(await request('api/tasks', { aborted: true })).toBe('TypeError: offline');
  expect(posted).toEqual([]);
});

it.each([
  ['an act', 'api/tasks', { method: 'POST' }],
  ['a feed', 'api/events', {}],
  ['what administrators read', 'api/audit', {}],
  ['API tokens', 'api/tokens', {}],
  ['a download', 'api/audit/export', { mode: 'navigate' }],
  ['a page beside the console', '../other', { mode: 'navigate' }],
])('leaves %s to the browser', async (_, path, options) => {
  expect(await request(path, options)).toBeNull();
  expect(network).not.toHaveBeenCalled();
});

it.each(['api/auth/logout', 'api/auth/login'])('%s forgets what was seen, also what is on its way', async (path) => {
  online('{"tasks":[]}');
  await request('api/tasks');
  let arrive: (response: Response) => void = () => undefined;
  network.mockImplementationOnce(() => new Promise((resolve) => (arrive = resolve)));
  const late = request('api/interactions');
  online('{"success":true}');
  expect(await request(path, { method: 'POST' })).toBe('{"success":true}');
  arrive(ofBroker('{"of":"the former user"}', 'application/json'));
  await late;
  expect(seen()).toEqual([]);
});

it('the answer that a session has ended forgets what was seen', async () => {
  online('{"tasks":[]}');
  await request('api/tasks');
  online('{"code":"second_factor"}', 'application/json', 401);
  await request('api/interactions');
  expect(seen()).toEqual(['api/tasks']);
  online('{"code":"unauthorized"}', 'application/json', 401);
  await request('api/interactions');
  expect(seen()).toEqual([]);
});

it.each(lies)('what was seen is shown, and kept, while something else answers: $name', async (lie) => {
  online('the console', 'text/html');
  await request('', { mode: 'navigate' });
  online('{"user":{"id":"ada"}}');
  await request('api/auth/me');
  online('{"tasks":[]}');
  await request('api/tasks');
  const kept = seen();
  network.mockImplementation(() => tell(lie, () => ofBroker('{"of":"another"}', 'application/json')));
  expect(await request('api/tasks')).toBe('{"tasks":[]}');
  expect(await request('api/auth/me')).toBe('{"user":{"id":"ada"}}');
  await request('api/interactions');
  if (lie.how !== 'stale' && lie.how !== 'swapped') await request('tasks/1', { mode: 'navigate' });
  expect(seen()).toEqual(kept);
  expect(posted).toEqual([{ type: 'offline', offline: true }]);
  online('{"tasks":[1]}');
  expect(await request('api/tasks')).toBe('{"tasks":[1]}');
  expect(posted).toEqual([
    { type: 'offline', offline: true },
    { type: 'offline', offline: false },
  ]);
});

it('another user finds nothing of the former one', async () => {
  online('{"user":{"id":"ada"}}');
  await request('api/auth/me');
  online('{"tasks":[]}');
  await request('api/tasks');
  online('{"user":{"id":"ada"}}');
  await request('api/auth/me');
  expect(seen()).toContain('api/tasks');
  online('{"user":{"id":"bob"}}');
  await request('api/auth/me');
  expect(seen()).toEqual(['owner-of-what-was-seen', 'api/auth/me']);
});

it('keeps a bounded number of answers, the latest ones', async () => {
  online('{"user":{"id":"ada"}}');
  await request('api/auth/me');
  online('{}');
  for (let i = 0; i < 400; i++) await request(`api/tasks/${i}`);
  expect(seen().length).toBeLessThanOrEqual(301);
  expect(seen()).toContain('owner-of-what-was-seen');
  expect(seen()).toContain('api/tasks/399');
});
