// An agent for tests that speaks the headless interface (protocol section 4) and misbehaves on request.
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

let session;
const send = (line) => process.stdout.write(`${JSON.stringify({ session_id: session, ...line })}\n`);
const chunk = (content) => send({ type: 'chunk', content });
const drained = () =>
  new Promise((resolve) => (process.stdout.writableNeedDrain ? process.stdout.once('drain', resolve) : resolve()));
let stopped = false;

/** Numbered words, which show where a word was lost or doubled. */
const word = (n) => `w${n} `;

const verbs = {
  say: (text) => chunk(text),
  /** Writes N words, MS apart. */
  async drip(n, ms) {
    for (let i = 1; i <= Number(n) && !stopped; i++) {
      chunk(word(i));
      await new Promise((resolve) => setTimeout(resolve, Number(ms)));
    }
  },
  /** Writes N words; the second half of them when the test makes the file "go" in the workspace. */
  async held(n) {
    for (let i = 1; i <= Number(n) && !stopped; i++) {
      while (i === Number(n) / 2 && !stopped && !existsSync('go'))
        await new Promise((resolve) => setTimeout(resolve, 20));
      chunk(word(i));
    }
  },
  /** Writes N parts without a pause. */
  async flood(n, size = 8) {
    for (let i = 1; i <= Number(n) && !stopped; i++) {
      chunk(i % 40 === 0 ? `w${i}\n\n` : word(i).padEnd(Number(size), 'x'));
      await drained();
    }
  },
  /** Writes KIB of prose with headings, lists and code, in pieces of 64 bytes, MS apart. */
  async prose(kib, ms = 4) {
    const text = prose(Number(kib) * 1024);
    for (let at = 0; at < text.length && !stopped; at += 64) {
      chunk(text.slice(at, at + 64));
      await new Promise((resolve) => setTimeout(resolve, Number(ms)));
    }
  },
  /** Calls a tool whose output is given as base64. */
  tool(base64) {
    const text = Buffer.from(base64, 'base64').toString();
    send({ type: 'tool_start', id: 'c1', name: 'run_command', arguments: { command: text } });
    send({ type: 'tool_message', id: 'c1', name: 'run_command', content: text });
    chunk('done');
  },
  /** Takes N steps of a sentence and a tool: two messages each, and one at the end. */
  async work(n) {
    for (let i = 1; i <= Number(n); i++) {
      chunk(`Now step ${i}: the rate limit is read from \`config/${i}.yaml\`.`);
      send({ type: 'tool_start', id: `t${i}`, name: 'read_file', arguments: { path: `config/${i}.yaml` } });
      send({ type: 'tool_message', id: `t${i}`, name: 'read_file', content: `limit: ${i}\nburst: ${i * 2}\n` });
      await drained();
    }
    chunk('All is read.');
  },
  /** Calls N tools, MS long each, and then a command that ends with the exit code 3. */
  async steps(n, ms) {
    for (let i = 1; i <= Number(n); i++) {
      send({ type: 'tool_start', id: `s${i}`, name: 'read_file', arguments: { path: `config/${i}.yaml` } });
      await new Promise((resolve) => setTimeout(resolve, Number(ms)));
      send({ type: 'tool_message', id: `s${i}`, name: 'read_file', content: `limit: ${i}` });
    }
    send({ type: 'tool_start', id: 'last', name: 'run_command', arguments: { command: 'make' } });
    send({ type: 'tool_message', id: 'last', name: 'run_command', content: 'Exit code 3\noops', is_error: true });
    chunk('All is read.');
  },
  /** Writes a text given as base64. */
  text: (base64) => chunk(Buffer.from(base64, 'base64').toString()),
  /** Warns with a text given as base64, twice, and then answers. */
  warn(base64) {
    const message = Buffer.from(base64, 'base64').toString();
    for (const level of ['warning', 'warning']) send({ type: 'status', level, message });
    chunk('done');
  },
  /** Asks for a permission for a command given as base64. */
  confirm(base64) {
    const command = Buffer.from(base64, 'base64').toString();
    send({ type: 'tool_start', id: 'c2', name: 'run_command', arguments: { command } });
    send({
      type: 'confirm',
      request_id: 'r1',
      prompt: `Run ${command}?`,
      tool_name: 'run_command',
      args: { command },
      security_warning: { level: 'CRITICAL', message: 'look twice' },
    });
    return new Promise((resolve) => (answered = resolve));
  },
  /** Answers, and reports INPUT tokens, 20 of output, DOLLARS, and CONTEXT of 1,000 tokens. */
  spend(input, costUSD, contextTokens) {
    const usage = { inputTokens: +input, outputTokens: 20, costUSD: +costUSD, contextTokens: +contextTokens };
    send({ type: 'message', content: 'paid', metadata: { usage: { ...usage, contextWindow: 1000 } } });
  },
  /** Answers, and names two sources: a page at PAGE and a program. */
  cite(page) {
    const documents = [
      { title: 'The manual', url: page },
      { title: 'A trick', url: 'javascript:document.title="owned"' },
    ];
    send({ type: 'message', content: 'as it is written', metadata: { source_documents: documents, latency_ms: 7 } });
  },
  /** Writes one line of KIB without a break. */
  async line(kib) {
    const text = 'x'.repeat(Number(kib) * 1024);
    for (let at = 0; at < text.length; at += 65536) {
      chunk(text.slice(at, at + 65536));
      await drained();
    }
    chunk('\n\nthe end of the line');
  },
};

function prose(length) {
  const paragraph = (n) =>
    `## Step ${n}\n\nThe build reads \`config/${n}.yaml\` and **merges** it over the defaults; what is [not named](https://example.org/${n}) stays.\n\n- first of ${n}\n- second of ${n}\n\n\`\`\`go\nfunc step${n}(ctx context.Context) error {\n\treturn run(ctx, ${n})\n}\n\`\`\`\n\n`;
  let text = '';
  for (let n = 1; text.length < length; n++) text += paragraph(n);
  return text.slice(0, length);
}

let answered = () => undefined;

createInterface({ input: process.stdin })
  .on('line', async (raw) => {
    const line = JSON.parse(raw);
    session = line.session_id ?? session;
    if (line.type === 'interrupt') stopped = true;
    if (line.type === 'confirmation') {
      send({
        type: 'tool_message',
        id: 'c2',
        name: 'run_command',
        content: line.value ? 'ran' : 'denied',
        ...(!line.value && { is_error: true }),
      });
      answered();
    }
    if (line.type !== 'input') return;
    stopped = false;
    const [verb, ...args] = line.text.split(' ');
    send({ type: 'state', state: 'thinking' });
    if (verb === 'say') verbs.say(args.join(' '));
    else if (verbs[verb]) await verbs[verb](...args);
    else chunk(`I do not know ${verb}.`);
    send({ type: 'state', state: 'waiting_for_input', reason: stopped ? 'interrupted' : 'done' });
  })
  .on('close', () => process.exit(0));
