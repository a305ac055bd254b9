import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Api } from './api.ts';
import { directory, freePort, start, startProgram, type Program } from './program.ts';
import { createToken } from './session.ts';
import { FaultProxy } from '../../client/test/kit/proxy.ts';

const agent = (name: string) => [process.execPath, fileURLToPath(new URL(`../agents/${name}.mjs`, import.meta.url))];

/** A broker with its own host, as "bellhop dev" runs them. */
export interface World {
  /** The broker's URL for programs. */
  broker: string;
  /** The console's URL for browsers, which programs of this machine may not be able to resolve. */
  console: string;
  host: string;
  email: string;
  password: string;
  /** The sign-in link that was printed. */
  link: string;
  api: Api;
  data: string;
  stop: () => Promise<void>;
}

export async function openWorld(env: Record<string, string> = {}): Promise<World> {
  const { path, remove } = directory();
  const dev = await start(
    ['dev', '--data', path, '--listen', '127.0.0.1:0', '--host-listen', '127.0.0.1:0'],
    (output) => output.includes('everything is kept in'),
    env,
  );
  const file = JSON.parse(readFileSync(join(path, 'dev.json'), 'utf8')) as Record<
    'brokerUrl' | 'hostUrl' | 'email' | 'password' | 'apiToken',
    string
  >;
  const link = /sign in\s+(\S+)/.exec(dev.output())?.[1] ?? '';
  return {
    broker: file.brokerUrl,
    console: new URL(link).origin,
    host: file.hostUrl,
    email: file.email,
    password: file.password,
    link,
    api: new Api(file.brokerUrl, file.apiToken, agentTokens(path, file.email)),
    data: path,
    stop: async () => {
      await dev.stop();
      remove();
    },
  };
}

/** The directory in which the task's agent works on the world's own host. */
export function workspaceOf(world: World, taskId: string): string {
  return join(world.data, 'host', 'workspaces', taskId);
}

/** The environment of commands on the world's database. */
function database(data: string): Record<string, string> {
  return { BELLHOP_DATABASE_URL: `sqlite:${join(data, 'broker.db')}`, BELLHOP_KEYSET_FILE: join(data, 'keyset') };
}

/** Returns a function that creates agents' tokens of a user with the command line. */
const agentTokens = (data: string, email: string) => async (agent: string) => {
  const create = ['tokens', 'create', '--email', email, '--name', agent, '--kind', 'agent', '--agent', agent];
  const made = await start(create, (output) => output.endsWith('\n'), database(data));
  await made.stop();
  return made.output().trim();
};

/** Returns a world as a new administrator sees it. */
export async function openUser(world: World): Promise<World> {
  const user = { email: `${randomUUID()}@example.org`, password: 'a-password-of-tests-only' };
  await addUser(world, user, '--admin');
  const opened = { ...world, ...user, link: '' };
  opened.api = new Api(world.broker, await createToken(opened), agentTokens(world.data, user.email));
  return opened;
}

/** Creates a user, who is no administrator without the flag for it. */
export async function addUser(
  world: World,
  user: { email: string; password: string },
  ...flags: string[]
): Promise<void> {
  const add = await start(['users', 'add', '--email', user.email, ...flags], (output) => output.trim() !== '', {
    ...database(world.data),
    BELLHOP_USER_PASSWORD: user.password,
  });
  await add.stop();
}

const hostPassword = 'a-password-of-tests-only';

/** The configuration file of a host in a directory. */
const configOf = (path: string) => join(path, 'host.yaml');

/** Starts a host with a configuration file, in a directory. */
export async function startHost(
  world: World,
  { path, port, config, publicUrl }: { path: string; port: number; config: string; publicUrl: string },
  env: Record<string, string> = {},
): Promise<Program> {
  writeFileSync(configOf(path), config);
  return start(
    ['host'],
    () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        (r) => r.ok,
        () => false,
      ),
    {
      BELLHOP_HOST_LISTEN: `127.0.0.1:${port}`,
      BELLHOP_HOST_PUBLIC_URL: publicUrl,
      BELLHOP_HOST_PASSWORD: hostPassword,
      BELLHOP_HOST_DATA: join(path, 'data'),
      BELLHOP_HOST_CONFIG: configOf(path),
      BELLHOP_HOST_ALLOWED_ORIGINS: world.broker,
      ...env,
    },
  );
}

/** Removes a host that has stopped, and its tasks: otherwise tasks of later tests could be placed on it. */
export async function removeHost(world: World, id: string): Promise<void> {
  const { tasks } = await world.api.call<{ tasks: { id: string; hostId: string }[] }>('GET', '/api/tasks');
  for (const task of tasks.filter((t) => t.hostId === id)) await world.api.call('DELETE', `/api/tasks/${task.id}`);
  await world.api.call('DELETE', `/api/hosts/${id}?force=true`);
}

/** Registers a host that startHost started, and returns its id. */
export async function addHost(world: World, name: string, url: string): Promise<string> {
  return (await world.api.call<{ id: string }>('POST', '/api/hosts', { name, url, password: hostPassword })).id;
}

/** A host whose project "shop" has its remote at a forge of tests. */
export interface ForgeHost {
  id: string;
  /** The name of the forge. */
  forge: string;
  /** The bare repository at the forge. */
  bare: string;
  /** The directory in which a task's agent works. */
  workspaceOf: (taskId: string) => string;
  /** Stops the forge alone. */
  stopForge: () => Promise<void>;
  stop: () => Promise<void>;
}

/** The token that the forge accepts. */
export const forgeToken = 'forge-token-of-tests';

interface ForgeOptions {
  /** Content of the project's files, by name. */
  files?: Record<string, string>;
  /** Whether the host has the agent that merges. */
  merger?: boolean;
  /** The host's token for the forge. */
  hostToken?: string;
  /** More of the host's environment. */
  env?: Record<string, string>;
}

export async function openForgeHost(
  world: World,
  name: string,
  { files = {}, merger = false, hostToken = forgeToken, env = {} }: ForgeOptions = {},
): Promise<ForgeHost> {
  const { path, remove } = directory();
  const shop = join(path, 'shop');
  const bare = join(path, 'forge', 'ada', 'shop.git');
  git(path, 'init', '--quiet', '--initial-branch=main', shop);
  for (const [file, content] of Object.entries(files)) writeFileSync(join(shop, file), content);
  git(shop, 'add', '.');
  git(shop, 'commit', '--quiet', '--allow-empty', '-m', 'first');
  git(path, 'clone', '--quiet', '--bare', shop, bare);
  git(bare, 'config', 'http.receivepack', 'true');
  const forge = await startProgram(
    [process.env.BELLHOP_E2E_FORGE ?? 'fakeforge', '-repository', 'ada/shop', '-root', join(path, 'forge')],
    (output) => output.endsWith('\n'),
    {},
  );
  const api = new URL(forge.output().trim());
  git(shop, 'remote', 'add', 'origin', `${api.origin}/ada/shop.git`);
  writeFileSync(join(path, 'token'), `${hostToken}\n`);
  const forgeOf = JSON.stringify({ kind: 'gitea', url: api.href, tokenFile: join(path, 'token') });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const agents = merger ? `agents:\n  merger:\n    command: ${JSON.stringify(agent('merger'))}\n` : '';
  const forges = `forges:\n  ${JSON.stringify(api.host)}: ${forgeOf}\n`;
  const config = `projects:\n  shop: ${JSON.stringify(shop)}\n${forges}${agents}`;
  const host = await startHost(world, { path, port, config, publicUrl: url }, env);
  const id = await addHost(world, name, url);
  return {
    id,
    forge: api.host,
    bare,
    workspaceOf: (taskId) => join(path, 'data', 'workspaces', taskId),
    stopForge: () => forge.stop(),
    stop: async () => {
      await host.stop();
      await forge.stop();
      remove();
      await removeHost(world, id);
    },
  };
}

/** Runs git with an identity and no settings of the machine; returns its output. */
export function git(dir: string, ...args: string[]): string {
  // Of a host that runs as root, the workspaces belong to other users.
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'safe.directory=*'];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' };
  return execFileSync('git', [...identity, ...args], { cwd: dir, env, encoding: 'utf8' }).trim();
}

/** A host that lets users open terminals. Pages reach it themselves, or only through the broker. */
export async function openTerminalHost(
  world: World,
  name: string,
  reach: 'direct' | 'relay',
): Promise<{ id: string; stop: () => Promise<void> }> {
  const { path, remove } = directory();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const host = await startHost(world, { path, port, config: 'terminal: on\n', publicUrl: url });
  const id = await addHost(world, name, url);
  if (reach === 'relay') await world.api.call('PATCH', `/api/hosts/${id}`, { reach });
  return {
    id,
    stop: async () => {
      await host.stop();
      remove();
      await removeHost(world, id);
    },
  };
}

/** A second host behind a proxy that fails on demand. One of its agents misbehaves on demand, one speaks ACP. */
export interface FarHost {
  id: string;
  url: string;
  proxy: FaultProxy;
  /** Adds lines to the host's configuration, in place of earlier ones. */
  configure: (lines: string) => void;
  /** Lets the agent of a task write the second half of what "held N" writes. */
  release: (taskId: string) => void;
  stop: () => Promise<void>;
}

export async function openFarHost(world: World, name = 'far'): Promise<FarHost> {
  const { path, remove } = directory();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const proxy = await new FaultProxy(new URL(url)).start();
  const mischief = `  mischief:\n    command: ${JSON.stringify(agent('mischief'))}\n`;
  const scripted = `  scripted:\n    kind: acp\n    command: ${JSON.stringify(agent('acp'))}\n`;
  const agents = `agents:\n${mischief}${scripted}`;
  const host = await startHost(world, { path, port, config: agents, publicUrl: proxy.url });
  const id = await addHost(world, name, url);
  // The content policy of a page has the host's public address once the broker knows it from a check-in.
  const task = await world.api.newTask('warm-up', { hostId: id, agent: 'mischief' });
  await world.api.prompt(task.id, 'say hello');
  await world.api.call('DELETE', `/api/tasks/${task.id}`);
  return {
    id,
    url,
    proxy,
    configure: (lines) => writeFileSync(configOf(path), agents + lines),
    release: (taskId) => writeFileSync(join(path, 'data', 'workspaces', taskId, 'go'), ''),
    stop: async () => {
      await proxy.stop();
      await host.stop();
      remove();
    },
  };
}
