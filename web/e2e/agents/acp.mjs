// An agent for tests that speaks ACP (JSON-RPC on stdin and stdout). It knows the slash commands /plan and /web, takes
// images, and answers with what it was sent.
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (sessionId, change) => send({ method: 'session/update', params: { sessionId, update: change } });
const say = (sessionId, text) =>
  update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });

const commands = [
  { name: 'plan', description: 'Plans the work without doing it', input: null },
  { name: 'web', description: 'Searches the web', input: { hint: 'words' } },
];

/** Describes a prompt, and runs its command. */
function described(prompt) {
  const [first, ...others] = prompt.map((block) =>
    block.type === 'text' ? block.text : `${block.type} ${block.mimeType} of ${block.data.length} characters`,
  );
  const [, name, rest] = /^\/(\w+)\s*([\s\S]*)$/.exec(first ?? '') ?? [];
  const command = commands.some((c) => c.name === name) && `ran the command ${name} with “${rest}”`;
  return [command || `was sent: ${first}`, ...others].join('\n\n');
}

const handlers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { promptCapabilities: { image: true } } }),
  'session/new'() {
    setImmediate(() => update('s', { sessionUpdate: 'available_commands_update', availableCommands: commands }));
    return { sessionId: 's' };
  },
  'session/prompt'({ sessionId, prompt }) {
    say(sessionId, described(prompt));
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
