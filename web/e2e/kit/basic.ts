import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answers, directory, freePort, startProgram } from './program.ts';
import type { World } from './world.ts';

const password = 'a-password-of-tests-only';
const root = fileURLToPath(new URL('../../..', import.meta.url));
const examples = join(root, 'examples/agent-server');

/** An agent server of the basic flow. */
export interface BasicServer {
  id: string;
  url: string;
  /** Sets how browsers reach it, from the next page load on. */
  setReach: (reach: Reach) => Promise<void>;
  stop: () => Promise<void>;
}

export type Reach = 'direct' | 'relay';

/** The commands of basic servers. A command is built in the directory that it gets, if it must be built. */
export const basicServers = {
  /** Posts no finish event, and gives every text the same id. */
  'a server without finish events': () => [process.execPath, join(root, 'web/e2e/agents/basic.mjs')],
  'server.go': (dir: string) => {
    const binary = join(dir, 'server');
    const build = spawnSync('go', ['build', '-o', binary, join(examples, 'server.go')], {
      cwd: root,
      env: { ...process.env, CGO_ENABLED: '0' },
      encoding: 'utf8',
    });
    if (build.status !== 0) throw new Error(`go build: ${build.error?.message ?? build.stderr}`);
    return [binary];
  },
  'server.mjs': () => [process.execPath, join(examples, 'server.mjs')],
  'server.py': () => ['python3', join(examples, 'server.py')],
} satisfies Record<string, (dir: string) => string[]>;

/** Starts a basic server and registers it as a host. */
export async function openBasic(world: World, name: keyof typeof basicServers): Promise<BasicServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { path, remove } = directory();
  const env = { PORT: String(port), AGENT_PASSWORD: password };
  const server = await startProgram(basicServers[name](path), answers(url), env);
  const { id } = await world.api.call<{ id: string }>('POST', '/api/hosts', { name: `basic-${port}`, url, password });
  return {
    id,
    url,
    setReach: (reach) => world.api.call('PATCH', `/api/hosts/${id}`, { reach }),
    stop: async () => {
      await server.stop();
      remove();
      // Otherwise tasks of other tests could be placed on this host.
      const { tasks } = await world.api.call<{ tasks: { id: string; hostId: string }[] }>('GET', '/api/tasks');
      for (const task of tasks.filter((t) => t.hostId === id)) await world.api.call('DELETE', `/api/tasks/${task.id}`);
      await world.api.call('DELETE', `/api/hosts/${id}`);
    },
  };
}
