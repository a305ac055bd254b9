/** The client as a program: it reads calls from stdin, one JSON object a line, and writes their results to stdout. The
 * cases are those of internal/e2e/clients_test.go, which runs them with the other clients too. */
import { createInterface } from 'node:readline';
import { BellhopClient, BellhopError, type NativePart, type Turn } from '../../src/index.js';

interface Call {
  url: string;
  token: string;
  relay?: boolean;
  method: string;
  path: string;
  body?: unknown;
  title: string;
  hostId: string;
  taskId: string;
  turnId: string;
  message: string;
  messageId?: string;
  id: string;
  approved: boolean;
  approve: boolean;
  text: string;
  leave?: boolean;
  interrupt?: boolean;
}

let client = new BellhopClient();
let turn: Turn | null = null;
let reconnects = 0;

const calls: Readonly<Record<string, (call: Call) => unknown>> = {
  open({ url, token, relay }) {
    client = new BellhopClient({
      endpoint: url,
      token,
      relay: relay ? 'always' : 'never',
      onConnection: (state) => void (reconnects += state === 'reconnecting' ? 1 : 0),
    });
  },
  request: ({ method, path, body }) => client.request(method, path, { body }),
  create: ({ title, hostId }) => client.createTask({ title, agent: 'demo', hostId }),
  messages: ({ taskId, turnId }) => client.messages(taskId, { turn: turnId, wait: '30s' }),
  async prompt({ taskId, message, messageId }) {
    turn = await client.prompt(taskId, message, messageId ? { messageId } : {});
    return { turnId: turn.turnId };
  },
  async resume({ taskId }) {
    turn = await client.resume(taskId);
    return turn && { turnId: turn.turnId };
  },
  read,
  answer: ({ id, approved }) => client.answer(id, { approved }),
};

/** Reads the turn to its end, or to a text; answers what it asks. */
async function read({ approve, text, leave, interrupt }: Call): Promise<unknown> {
  const parts: NativePart[] = [];
  let stopped = false;
  reconnects = 0;
  for await (const { part } of turn!.parts()) {
    parts.push(part);
    if (part.type === 'tool-approval-request') await client.answer(part.approvalId, { approved: approve });
    if (part.type === 'data-ask') await client.answer(part.id, { text });
    if (part.type === 'text-delta' && leave) break;
    if (part.type === 'text-delta' && interrupt && !stopped) {
      stopped = true;
      await turn!.interrupt();
    }
  }
  return { parts, reconnects };
}

async function run(call: Call & { do: string }): Promise<unknown> {
  try {
    return { ok: (await calls[call.do]!(call)) ?? null };
  } catch (error) {
    if (error instanceof BellhopError) {
      const { status, code, hint, message } = error;
      return { error: { status, code, hint, message } };
    }
    if (error instanceof TypeError && error.message.startsWith('network error')) {
      return { error: { network: error.message } };
    }
    throw error;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await run(JSON.parse(line) as Call & { do: string })));
}
