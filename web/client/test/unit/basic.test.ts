import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentClient, type NativePart, type Turn } from '../../src/index.js';
import { brokerUrl, FakeBellhop } from '../kit/fake.js';

let server: FakeBellhop;
let client: AgentClient;

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeBellhop();
  server.basic = true;
  client = new AgentClient({ endpoint: brokerUrl, token: 'key', fetch: server.fetch });
});
afterEach(() => vi.useRealTimers());

async function read(turn: Turn): Promise<NativePart[]> {
  const parts: NativePart[] = [];
  for await (const { part } of turn.parts()) parts.push(part);
  return parts;
}

const reports = () => server.calls.filter((call) => call.path === '/api/agent/finish').map((call) => call.body);

describe('a basic host', () => {
  test('gets its token in the query alone, from the first request on', async () => {
    const parts = await read(await client.prompt('task', 'hi'));
    expect(parts.at(-1)).toMatchObject({ type: 'finish' });
    expect(server.calls.map((call) => `${call.method} ${call.path}`)).toEqual([
      'POST /api/agent',
      'POST /stream/task',
      'POST /api/agent/finish',
    ]);
    expect(server.calls[1]!.headers.has('authorization')).toBe(false);
  });

  test('gets its token in the query through the relay too', async () => {
    client.relayed.add('task');
    await read(await client.prompt('task', 'hi'));
    expect(server.count('POST', '/api/agent/stream/task')).toBe(1);
    expect(reports()).toHaveLength(1);
  });

  test.each<[NativePart, object]>([
    [{ type: 'finish', finishReason: 'length' }, { finishReason: 'length' }],
    [{ type: 'finish', finishReason: 'unheard-of' }, { finishReason: 'stop' }],
    [{ type: 'finish' }, { finishReason: 'stop' }],
    [{ type: 'abort' }, { finishReason: 'other', reason: 'aborted' }],
    [
      { type: 'error', error: 'no model' },
      { finishReason: 'error', reason: 'no model' },
    ],
  ])('whose turn ends with %o is reported', async (part, report) => {
    server.script = (turn) => turn.send(part);
    await read(await client.prompt('task', 'hi'));
    expect(reports()).toEqual([{ taskId: 'task', turnId: 'turn-1', ...report }]);
  });

  test('that closes its stream without a finish has ended its turn', async () => {
    server.script = (turn) => {
      turn.text('t1', 'all');
      for (const reader of [...turn.readers]) reader.end();
    };
    const parts = await read(await client.prompt('task', 'hi'));
    expect(parts.at(-1)).toMatchObject({ type: 'text-end' });
    expect(reports()).toEqual([{ taskId: 'task', turnId: 'turn-1', finishReason: 'stop' }]);
    expect(server.count('POST', '/stream/task')).toBe(1);
  });

  test('that refuses the prompt has ended its turn', async () => {
    server.fail('POST /stream/task', 400);
    await expect(read(await client.prompt('task', 'hi'))).rejects.toMatchObject({ status: 400 });
    expect(reports()).toMatchObject([{ taskId: 'task', turnId: 'turn-1', finishReason: 'error' }]);
  });

  test('that is silent for minutes keeps its connection, because it sends no pings', async () => {
    server.script = (turn) => turn.text('t1', 'a');
    const reading = read(await client.prompt('task', 'hi'));
    await vi.advanceTimersByTimeAsync(14 * 60_000);
    server.turn.finish();
    await reading;
    expect(server.count('POST', '/stream/task')).toBe(1);
  });

  test('stops because its stream is closed', async () => {
    server.script = (turn) => turn.text('t1', 'a');
    const turn = await client.prompt('task', 'hi');
    const reading = read(turn);
    await vi.advanceTimersByTimeAsync(0);
    expect(server.turn.readers.size).toBe(1);
    await turn.interrupt();
    expect((await reading).at(-1)).toEqual({ type: 'abort', reason: 'aborted' });
    expect(server.turn.readers.size).toBe(0);
  });

  test('whose connection breaks is not prompted again', async () => {
    server.script = (turn) => turn.text('t1', 'a');
    const reading = read(await client.prompt('task', 'hi'));
    reading.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    server.turn.cut();
    await vi.advanceTimersByTimeAsync(60_000);
    await expect(reading).rejects.toThrow('cannot resume');
    expect(server.count('POST', '/stream/task')).toBe(1);
    expect(reports()).toEqual([]);
  });

  test('whose report fails for a while is reported again', async () => {
    server.fail('POST /api/agent/finish', 0, 503);
    await read(await client.prompt('task', 'hi'));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reports()).toHaveLength(3);
  });
});

test('a host that announced capabilities gets its token in the header, and no report', async () => {
  server.basic = false;
  await read(await client.prompt('task', 'hi'));
  expect(server.calls[1]!.headers.get('authorization')).toBe('Bearer token-1');
  expect(reports()).toEqual([]);
});
