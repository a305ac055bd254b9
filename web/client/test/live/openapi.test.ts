import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { beforeAll, expect, inject, test } from 'vitest';
import { BellhopClient, type Answer, type Status, type TaskChange, type TaskQuery } from '../../src/index.js';

interface Schema {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  required?: string[];
  enum?: string[];
  examples?: string[];
}

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: { 'application/json': { schema: Schema } } };
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

let document: Document;
beforeAll(async () => {
  document = (await (await fetch(`${inject('brokerUrl')}/openapi.json`)).json()) as Document;
});

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1);
const resolved = (schema: Schema) => (schema.$ref ? document.components.schemas[nameOf(schema.$ref)]! : schema);

const status: Status = 'idle';
const turn = { taskId: 't', messageId: 'm', message: 'x' };

// Queries and bodies have every member of their types, so that each is looked for in the document.
const query: Required<TaskQuery> = { cursor: 'c', limit: 1, q: 'q', archived: true, state: 'waiting' };
const change: Required<TaskChange> = { title: 't', archived: true, readRev: 1 };
const answer: Required<Answer> = { approved: true, reason: 'r', text: 't', remember: 'session', by: 'b' };
const history = { after: 1, before: 1, since: 1, limit: 1, turn: 't', atLeast: 1, wait: '1s', with: 'turns' } as const;
const hunk = { path: 'p', hunk: '@@ -1 +1 @@' };

const shown = { snapshot: 's', head: 'h' };

/** Every method of the client, and a call of it. */
const calls: Readonly<Record<string, (client: BellhopClient) => unknown>> = {
  createTask: (c) => c.createTask({ title: 't', agent: 'a', hostId: 'h', project: 'p', branch: 'b', mode: 'agent' }),
  tasks: (c) => c.tasks(query),
  task: (c) => c.task('t'),
  updateTask: (c) => c.updateTask('t', change),
  deleteTask: (c) => c.deleteTask('t', 'l'),
  onlyCopies: (c) => c.onlyCopies('t'),
  messages: (c) => c.messages('t', history),
  queue: (c) => c.queue('t'),
  queueMessage: (c) => c.queueMessage('t', { message: 'x', messageId: 'm' }),
  changeQueued: (c) => c.changeQueued('t', 'm', { message: 'x' }),
  removeQueued: (c) => c.removeQueued('t', 'm'),
  sendQueued: (c) => c.sendQueued('t', 'm'),
  pauseQueue: (c) => c.pauseQueue('t', true),
  interactions: (c) => c.interactions('open'),
  agents: (c) => c.agents(),
  workspaces: (c) => c.workspaces(),
  taskWorkspace: (c) => c.taskWorkspace('t'),
  usage: (c) => c.usage('t'),
  commit: (c) => c.commit('t', 'message', shown),
  discard: (c) => c.discard('t', ['p'], shown),
  discardHunk: (c) => c.discardHunk('t', hunk as never, shown),
  fetchRemote: (c) => c.fetchRemote('t'),
  push: (c) => c.push('t', 'commit'),
  pullRequest: (c) => c.pullRequest('t', { title: 't', body: 'b' }),
  diff: (c) => c.diff('t'),
  taskFeed: (c) => c.taskFeed('t', { since: 1 }).next(),
  userFeed: (c) => c.userFeed().next(),
  answer: (c) => c.answer('i', answer),
  checkIn: (c) => c.checkIn({ ...turn, artifacts: [], bindPrompt: true }),
  attach: (c) => c.attach('t'),
  interrupt: (c) => c.interrupt('t'),
  restart: (c) => c.restart('t'),
  finish: (c) => c.finish('t', 'u', { finishReason: 'error', reason: 'r' }),
  prompt: (c) => c.prompt('t', 'x'),
  resume: (c) => c.resume('t'),
};

/** Methods that send what their caller names. */
const general = ['constructor', 'call', 'send', 'request'];

test('every method of the client is in the table', () => {
  const methods = [BellhopClient.prototype, Object.getPrototypeOf(BellhopClient.prototype) as object].flatMap((proto) =>
    Object.entries(Object.getOwnPropertyDescriptors(proto)).flatMap(([name, { value }]) =>
      typeof value === 'function' ? [name] : [],
    ),
  );
  expect(methods.filter((name) => !general.includes(name)).sort()).toEqual(Object.keys(calls).sort());
  expect(status).toBe('idle');
});

/** Returns the operation of a request. */
function find(method: string, path: string): Operation | undefined {
  const elements = path.split('/');
  const fits = (pattern: string) => {
    const expected = pattern.split('/');
    return expected.length === elements.length && expected.every((e, at) => e.startsWith('{') || e === elements[at]);
  };
  const found = Object.entries(document.paths).filter(([p, ops]) => fits(p) && ops[method]);
  return found.sort(([a], [b]) => a.split('{').length - b.split('{').length)[0]?.[1][method];
}

test.each(Object.keys(calls))('%s sends what the document describes', async (name) => {
  const sent: { method: string; url: URL; body: unknown }[] = [];
  const recorded: typeof fetch = (input, init) => {
    const body: unknown = init?.body ? JSON.parse(String(init.body as string)) : undefined;
    sent.push({ method: init?.method?.toLowerCase() ?? 'get', url: new URL(String(input as URL | string)), body });
    return Promise.resolve(Response.json({ error: 'recorded', code: 'invalid' }, { status: 400 }));
  };
  const client = new BellhopClient({ endpoint: 'http://broker.test', token: 'x', fetch: recorded });
  await expect(calls[name]!(client)).rejects.toMatchObject({ status: 400 });
  expect(sent).not.toEqual([]);
  for (const { method, url, body } of sent) {
    const operation = find(method, url.pathname);
    expect(operation, `${method} ${url.pathname}`).toBeDefined();
    const parameters = operation?.parameters?.filter((p) => p.in === 'query').map((p) => p.name) ?? [];
    for (const key of url.searchParams.keys()) expect(parameters, url.pathname).toContain(key);
    const schema = operation?.requestBody?.content['application/json'].schema;
    if (body === undefined) expect(resolved(schema ?? {}).required, url.pathname).toBeUndefined();
    else {
      const { properties = {}, required = [] } = resolved(schema!);
      for (const key of Object.keys(body as object)) expect(Object.keys(properties), url.pathname).toContain(key);
      expect(Object.keys(body as object), url.pathname).toEqual(expect.arrayContaining(required));
    }
  }
});

/** How a schema is written as a type of wire.ts. */
function typeOf(schema: Schema): string {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ');
  if (schema.type === 'array') return `${typeOf(schema.items!)}[]`;
  if (schema.type === 'integer') return 'number';
  if (schema.type === 'object') return `Record<string, ${typeOf(schema.additionalProperties ?? {})}>`;
  return schema.type ?? 'unknown';
}

const source = ts.createSourceFile(
  'wire.ts',
  readFileSync(new URL('../../src/wire.ts', import.meta.url), 'utf8'),
  ts.ScriptTarget.ESNext,
);
const aliases = source.statements.filter(ts.isTypeAliasDeclaration);

/** The words of a union of strings; empty for another type. */
function wordsOf({ type }: ts.TypeAliasDeclaration): string[] {
  const members = ts.isUnionTypeNode(type) ? [...type.types] : [type];
  return members.flatMap((m) => (ts.isLiteralTypeNode(m) && ts.isStringLiteral(m.literal) ? [m.literal.text] : []));
}

/** Requests with a member that is required although null means the same: the document leaves it optional. */
const withPointers = ['QueueChange'];

/** Writes a type without the sets of words that the document does not name: there they are strings. */
function plain(type: string): string {
  const names = aliases.filter((a) => wordsOf(a).length > 0 && !document.components.schemas[a.name.text]);
  return names.reduce((text, { name }) => text.replaceAll(new RegExp(`\\b${name.text}\\b`, 'g'), 'string'), type);
}

test('the types of the client are the schemas of the document', () => {
  let compared = 0;
  for (const node of source.statements.filter(ts.isInterfaceDeclaration)) {
    const schema = document.components.schemas[node.name.text];
    if (!schema?.properties || node.heritageClauses) continue;
    compared++;
    const ours = node.members.filter(ts.isPropertySignature).map((member) => {
      const type = plain(member.type!.getText(source).replaceAll(/\s+/g, ' '));
      const name = member.name.getText(source);
      if (withPointers.includes(node.name.text)) return `${name}?: ${type.replace(' | null', '')}`;
      return `${name}${member.questionToken ? '?' : ''}: ${type}`;
    });
    const theirs = Object.entries(schema.properties).map(
      ([name, property]) => `${name}${schema.required?.includes(name) ? '' : '?'}: ${typeOf(property)}`,
    );
    expect.soft(ours.sort(), node.name.text).toEqual(theirs.sort());
  }
  expect(compared).toBeGreaterThan(60);
});

test('the sets of words of the client are those of the document', () => {
  let compared = 0;
  for (const alias of aliases) {
    const schema = document.components.schemas[alias.name.text];
    const words = schema?.enum ?? schema?.examples;
    if (!words) continue;
    compared++;
    expect.soft(wordsOf(alias).sort(), alias.name.text).toEqual([...words].sort());
  }
  expect(compared).toBeGreaterThan(15);
});
