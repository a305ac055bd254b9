// What the npm of tests installs: an agent that speaks ACP (JSON-RPC on stdin and stdout) and writes one file.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
let workspace = '.';

const handlers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new'({ cwd }) {
    workspace = cwd;
    return { sessionId: 's' };
  },
  'session/prompt'({ sessionId }) {
    writeFileSync(join(workspace, 'made.txt'), 'made by an installed agent\n');
    const content = { type: 'text', text: 'It is written.' };
    send({
      method: 'session/update',
      params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content } },
    });
    return { stopReason: 'end_turn' };
  },
};

createInterface({ input: process.stdin })
  .on('line', (raw) => {
    const { id, method, params } = JSON.parse(raw);
    if (id === undefined || !method) return;
    const handler = handlers[method];
    send(handler ? { id, result: handler(params) } : { id, error: { code: -32601, message: `no ${method}` } });
  })
  .on('close', () => process.exit(0));
