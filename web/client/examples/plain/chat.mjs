// One turn with nothing but fetch: check in, stream from the agent host, answer permissions on the terminal.
//
//   bellhop dev &
//   node chat.mjs path/to/.bellhop/dev.json 'write hello.txt: hi'
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import process from 'node:process';

const [file = '.bellhop/dev.json', message = 'help'] = process.argv.slice(2);
const { brokerUrl, apiToken } = JSON.parse(readFileSync(file, 'utf8'));

async function broker(path, body) {
  const response = await fetch(brokerUrl + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.error} (${answer.code}) ${answer.hint ?? ''}`);
  return answer;
}

const task = await broker('/api/tasks', { title: message });
const { streamUrl, streamToken, turnId, capabilities } = await broker('/api/agent', { taskId: task.id, message });

// A basic server names no capabilities: it takes the token in the query, and no Authorization.
const stream = await fetch(capabilities ? streamUrl : `${streamUrl}?token=${encodeURIComponent(streamToken)}`, {
  method: 'POST',
  headers: { ...(capabilities && { authorization: `Bearer ${streamToken}` }), 'content-type': 'application/json' },
  body: JSON.stringify({ prompt: message }),
});
if (!stream.ok) throw new Error(await stream.text());

const terminal = createInterface({ input: process.stdin, output: process.stdout });
let finishReason;
for await (const part of parts(stream.body)) {
  switch (part.type) {
    case 'text-delta':
      process.stdout.write(part.text);
      break;
    case 'tool-call':
      console.log(`\n→ ${part.toolName} ${JSON.stringify(part.input)}`);
      break;
    case 'tool-approval-request': {
      const reply = await terminal.question('Allow it? [y/N] ');
      await broker(`/api/interactions/${part.approvalId}`, { approved: reply.trim() === 'y' });
      break;
    }
    case 'data-ask':
      await broker(`/api/interactions/${part.id}`, { text: await terminal.question(`${part.data.prompt} `) });
      break;
    case 'finish':
    case 'abort':
    case 'error':
      finishReason = { abort: 'other', error: 'error' }[part.type] ?? part.finishReason;
      console.log(`\n(${finishReason})`);
  }
}
terminal.close();
// Only the reader of its stream knows that a basic server's turn is over.
const reasons = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'];
if (!reasons.includes(finishReason)) finishReason = 'stop';
if (!capabilities) await broker('/api/agent/finish', { taskId: task.id, turnId, finishReason });
// The rows come by the webhook: the broker waits for those of the turn.
const { messages } = await broker(`/api/tasks/${task.id}/messages?turn=${turnId}&wait=5s`);
console.log(`${messages.length} messages are stored`);

/** Parses the server-sent events of an agent server, which have one data line each. A real client also resumes by id. */
async function* parts(body) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (/^data: ?\{/.test(line)) yield JSON.parse(line.slice(5));
  }
}
