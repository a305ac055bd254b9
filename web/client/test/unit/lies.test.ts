import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BellhopClient, BellhopError, type NativePart } from '../../src/index.js';
import { brokerUrl, FakeBellhop, hostUrl } from '../kit/fake.js';
import { lies, tell, type Lie } from '../kit/lies.js';

let server: FakeBellhop;
let lie: Lie | undefined;
let told = 0;

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeBellhop();
  server.named = true;
  lie = undefined;
  told = 0;
  server.between = (_, own) => {
    if (!lie) return null;
    told++;
    return tell(lie, own);
  };
});
afterEach(() => vi.useRealTimers());

const newClient = (named = true) =>
  new BellhopClient({ endpoint: brokerUrl, token: 'key', fetch: server.fetch, named, maxRetries: 0 });

const calls: Record<string, (client: BellhopClient) => Promise<unknown>> = {
  task: (client) => client.task('task'),
  tasks: (client) => client.tasks(),
  checkIn: (client) => client.checkIn({ taskId: 'task', message: 'hi', messageId: 'm1' }),
  attach: (client) => client.attach('task'),
  interrupt: (client) => client.interrupt('task'),
  answer: (client) => client.answer('q1', { approved: true }),
  messages: (client) => client.messages('task'),
  deleteTask: (client) => client.deleteTask('task'),
  'the user feed': (client) => client.userFeed({ maxRetries: 0 }).next(),
  'a task feed': (client) => client.taskFeed('task', { maxRetries: 0 }).next(),
};

test.each(Object.keys(calls))('%s takes no answer of something else for the broker’s', async (name) => {
  const call = calls[name]!;
  for (const named of [true, false]) {
    lie = undefined;
    const client = newClient(named);
    await client.attach('task'); // names the broker
    for (const one of lies) {
      lie = one;
      const error: unknown = await call(client).then(
        (got) => `got ${JSON.stringify(got)}`,
        (failure: unknown) => failure,
      );
      const foreign = error instanceof BellhopError ? error.foreign && error.code === '' : error instanceof TypeError;
      expect(foreign, `${one.name}: ${String(error)}`).toBe(true);
      expect((error as { passing?: boolean }).passing, one.name).toBe(true);
    }
  }
  expect(told).toBe(2 * lies.length);
});

test('the first answer of a broker that is known to name itself counts only with the name', async () => {
  lie = lies.find(({ name }) => name === 'a word of ours: 401 unauthorized');
  await expect(newClient().task('task')).rejects.toMatchObject({ status: 401, code: '', foreign: true });
  await expect(newClient(false).task('task')).rejects.toMatchObject({ status: 401, code: 'unauthorized' });
});

test.each(['the broker', 'the host'])('a turn goes on after each lie between the client and %s', async (where) => {
  const options = { endpoint: brokerUrl, token: 'key', fetch: server.fetch, named: true };
  const client = new BellhopClient({ ...options, relay: 'never' });
  const origin = where === 'the broker' ? brokerUrl : hostUrl;
  for (const one of lies) {
    let left = 3;
    server.between = (call, own) => {
      const stream = call.path.startsWith('/stream/');
      if (stream !== (origin === hostUrl) || left-- <= 0) return null;
      told++;
      return tell(one, own);
    };
    const reading = (async () => {
      const parts: NativePart[] = [];
      for await (const { part } of (await client.prompt('task', 'hi')).parts()) parts.push(part);
      return parts;
    })();
    await vi.advanceTimersByTimeAsync(300_000);
    const parts = await reading;
    const text = parts.flatMap((part) => (part.type === 'text-delta' ? [part.text] : [])).join('');
    expect(text, one.name).toBe('Hello you');
    expect(parts.at(-1), one.name).toMatchObject({ type: 'finish' });
  }
  expect(told).toBeGreaterThanOrEqual(2 * lies.length);
});

test('a broker and a host that do not name their answers keep the rules of their status', async () => {
  server.named = false;
  const client = newClient(false);
  server.fail('GET /api/tasks/task', [401, { error: 'No', code: 'unauthorized' }]);
  await expect(client.task('task')).rejects.toMatchObject({ status: 401, code: 'unauthorized', foreign: false });
  const turn = await client.prompt('task', 'hi');
  for await (const { part } of turn.parts()) if (part.type === 'finish') break;
  expect(server.calls.find(({ path }) => path === '/stream/task')?.headers.has('bellhop-request')).toBe(false);
});
