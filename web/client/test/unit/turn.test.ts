import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentClient, BellhopError, type ConnectionState, type NativePart, type Turn } from '../../src/index.js';
import { brokerUrl, FakeBellhop } from '../kit/fake.js';

let server: FakeBellhop;
let client: AgentClient;
let states: ConnectionState[];

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeBellhop();
  states = [];
  client = new AgentClient({
    endpoint: brokerUrl,
    token: 'key',
    fetch: server.fetch,
    onConnection: (state) => states.push(state),
  });
});
afterEach(() => vi.useRealTimers());

async function read(turn: Turn, signal?: AbortSignal): Promise<NativePart[]> {
  const parts: NativePart[] = [];
  for await (const { part } of turn.parts({ signal })) parts.push(part);
  return parts;
}

/** Runs everything that waits for no timer. */
const settle = () => vi.advanceTimersByTimeAsync(0);
const words = (parts: NativePart[]) =>
  parts.flatMap((part) => (part.type === 'text-delta' ? [part.text] : [])).join('');

describe('a turn', () => {
  test('is checked in, started and read to its end', async () => {
    const turn = await client.prompt('task', 'hi', { messageId: 'm1' });
    expect(turn.turnId).toBe('turn-1');
    expect(turn.messageId).toBe('m1');
    const parts = await read(turn);
    expect(words(parts)).toBe('Hello you');
    expect(parts.at(-1)).toMatchObject({ type: 'finish' });
    expect(server.calls.map((call) => `${call.method} ${call.path}`)).toEqual(['POST /api/agent', 'POST /stream/task']);
    expect(server.calls[0]!.headers.get('authorization')).toBe('Bearer key');
    expect(server.calls[1]!.headers.get('authorization')).toBe('Bearer token-1');
    expect(states).toEqual(['connecting', 'streaming', 'closed']);
  });

  test('that is cut three times is read once', async () => {
    let cuts = 3;
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    server.onTurn = (turn) => {
      queueMicrotask(() => {
        turn.send({ type: 'text-delta', id: 't', text: `${cuts} ` });
        if (cuts-- > 0) setTimeout(() => turn.cut());
        else turn.send({ type: 'text-end', id: 't' }).finish();
      });
    };
    const reading = read(await client.prompt('task', 'hi'));
    await vi.advanceTimersByTimeAsync(60_000);
    const parts = await reading;
    expect(words(parts)).toBe('3 2 1 0 ');
    expect(parts.filter((part) => part.type === 'data-resume')).toHaveLength(3);
    expect(server.count('GET', '/stream/task')).toBe(3);
    expect(states.filter((state) => state === 'reconnecting')).toHaveLength(3);
  });

  test('whose connection falls silent continues on another one', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    const reading = read(await client.prompt('task', 'hi'));
    await vi.advanceTimersByTimeAsync(29_000);
    expect(server.count('GET', '/stream/task')).toBe(0);
    await vi.advanceTimersByTimeAsync(2_500);
    expect(server.count('GET', '/stream/task')).toBe(1);
    server.turn.finish();
    await reading;
  });

  test('that only pings keeps its connection', async () => {
    server.script = () => undefined;
    const reading = read(await client.prompt('task', 'hi'));
    for (let at = 0; at < 20; at++) {
      await vi.advanceTimersByTimeAsync(10_000);
      server.turn.ping();
    }
    server.turn.finish();
    await reading;
    expect(states).toEqual(['connecting', 'streaming', 'closed']);
  });

  test('retries after a 503 of the host', async () => {
    server.fail('POST /stream/task', 503, 503);
    const reading = read(await client.prompt('task', 'hi'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(words(await reading)).toBe('Hello you');
    expect(server.count('POST', '/api/agent')).toBe(1);
  });

  test('whose token expired before it started is checked in again with the same id', async () => {
    const turn = await client.prompt('task', 'hi');
    server.tokens.clear();
    expect(words(await read(turn))).toBe('Hello you');
    const [first, second] = server.calls
      .filter((call) => call.path === '/api/agent')
      .map((call) => call.body.messageId);
    expect(first).toBe(second);
    expect(server.turns).toHaveLength(1);
  });

  test('whose token expires while it runs attaches for another', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    const reading = read(await client.prompt('task', 'hi'));
    await settle();
    server.tokens.clear();
    server.turn.cut();
    await vi.advanceTimersByTimeAsync(1_000);
    server.turn.finish();
    expect((await reading).at(-1)).toMatchObject({ type: 'finish' });
    expect(server.count('POST', '/api/agent/attach')).toBe(1);
  });

  test('with a second 401 in a row is an error of the host', async () => {
    server.fail('POST /stream/task', 401, 401);
    await expect(read(await client.prompt('task', 'hi'))).rejects.toMatchObject({
      status: 401,
      origin: 'http://host.test',
    });
  });

  test('that the host refuses is an error with its code and hint', async () => {
    server.fail('POST /stream/task', [409, { error: 'A turn is open', code: 'busy', hint: 'Wait' }]);
    const error = await read(await client.prompt('task', 'hi')).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BellhopError);
    expect(error).toMatchObject({ message: 'A turn is open', code: 'busy', hint: 'Wait', status: 409 });
    expect(server.count('POST', '/stream/task')).toBe(1);
  });

  test('on a network that stays dead ends with a network error that names the host', async () => {
    client.options = { ...client.options, relay: 'never', maxRetries: 3 };
    const turn = await client.prompt('task', 'hi');
    server.reachable = false;
    const reading = read(turn).catch((reason: unknown) => reason);
    await vi.advanceTimersByTimeAsync(10_000);
    const error = await reading;
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toBe('TypeError: network error: http://host.test: Failed to fetch');
    expect(server.count('POST', '/stream/task')).toBe(4);
  });

  test('of a host without stream ids is not started again', async () => {
    server.script = () => undefined;
    const reading = read(await client.prompt('task', 'hi')).catch((reason: unknown) => reason);
    await settle();
    for (const reader of server.turn.readers) reader.send('data: {"type":"text-start","id":"t"}\n\n');
    await settle();
    server.turn.cut();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(String(await reading)).toContain('cannot resume');
    expect(server.count('POST', '/stream/task')).toBe(1);
  });

  test('that another turn replaced on the host is not mixed with it', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't', event: { id: 'e', seq: 1, turnId: 'another' } });
    await expect(read(await client.prompt('task', 'hi'))).rejects.toThrow('lost this turn');
  });

  test('yields a gap, so that the parts read before can be dropped', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'lost' });
    const reading = read(await client.prompt('task', 'hi'));
    await settle();
    server.gap = { parts: [{ type: 'text-start', id: 't' }] };
    server.turn.cut();
    await vi.advanceTimersByTimeAsync(1_000);
    server.turn.finish();
    const parts = await reading;
    expect(parts.map((part) => part.type)).toEqual(['text-start', 'text-delta', 'data-resume', 'text-start', 'finish']);
  });

  test('whose host resumes and disconnects without a part fails in the end', async () => {
    client.options = { ...client.options, maxRetries: 3 };
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    server.onTurn = (turn) => setTimeout(() => turn.cut());
    const reading = read(await client.prompt('task', 'hi')).catch((reason: unknown) => reason);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(String(await reading)).toContain('network error: http://host.test');
    expect(server.count('GET', '/stream/task')).toBe(3);
  });

  test('continues when its reader aborts', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    const abort = new AbortController();
    const reading = read(await client.prompt('task', 'hi'), abort.signal).catch((reason: unknown) => reason);
    await settle();
    abort.abort(new Error('enough'));
    expect(await reading).toMatchObject({ message: 'enough' });
    expect(server.turn.readers.size).toBe(0);
    expect(server.turn.over).toBe(false);
  });
});

describe('a check-in', () => {
  test('is repeated with the same message id', async () => {
    server.fail('POST /api/agent', 0, 503, 0);
    const prompting = client.prompt('task', 'hi');
    await vi.advanceTimersByTimeAsync(10_000);
    await prompting;
    const ids = server.calls.map((call) => call.body.messageId);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
  });

  test("that failed at the host, by the broker's answer, is not repeated", async () => {
    server.fail('POST /api/agent', [
      502,
      { error: 'Failed to connect to agent server', code: 'bad_gateway', messageId: 'm' },
    ]);
    const error = await client.prompt('task', 'hi').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 502, body: { messageId: 'm' } });
    expect(server.calls).toHaveLength(1);
  });
});

describe('the relay', () => {
  test('is used for the same turn when the host cannot be reached directly', async () => {
    server.reachable = false;
    const turn = await client.prompt('task', 'hi');
    expect(words(await read(turn))).toBe('Hello you');
    expect(turn.reach()).toBe('relay');
    expect(server.turns).toHaveLength(1);
    expect(server.count('POST', '/api/agent/stream/task')).toBe(1);
  });

  test('is remembered for the task', async () => {
    server.reachable = false;
    await read(await client.prompt('task', 'one'));
    await read(await client.prompt('task', 'two'));
    expect(server.count('POST', '/stream/task')).toBe(1);
    expect(server.calls.at(-2)!.body.reach).toBe('relay');
  });

  test('is not used for a host that was reached before', async () => {
    server.script = (turn) => turn.send({ type: 'text-start', id: 't' });
    const turn = await client.prompt('task', 'hi');
    const reading = read(turn);
    await settle();
    server.fail('GET /stream/task', 0, 0);
    server.turn.cut();
    await vi.advanceTimersByTimeAsync(10_000);
    server.turn.finish();
    await reading;
    expect(turn.reach()).toBe('direct');
  });
});

describe('an open turn', () => {
  test('is read from its start', async () => {
    server.script = (turn) =>
      turn.send({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', text: 'so far' });
    const abort = new AbortController();
    read(await client.prompt('task', 'hi'), abort.signal).catch(() => undefined);
    await settle();
    abort.abort();
    const turn = await client.resume('task');
    expect(turn?.turnId).toBe('turn-1');
    const reading = read(turn!);
    await settle();
    server.turn.finish();
    expect(words(await reading)).toBe('so far');
  });

  test('is null when there is none', async () => {
    expect(await client.resume('task')).toBeNull();
  });
});
