import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answers, freePort, startProgram } from './program.ts';
import { removeHost, type World } from './world.ts';

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

/** The commands of basic servers. */
export const basicServers = {
  /** Posts no finish event, and gives every text the same id. */
  'a server without finish events': () => [process.execPath, join(root, 'web/e2e/agents/basic.mjs')],
  'server.go': () => [process.env.BELLHOP_E2E_SERVER ?? 'server'],
  'server.mjs': () => [process.execPath, join(examples, 'server.mjs')],
  'server.py': () => ['python3', join(examples, 'server.py')],
} satisfies Record<string, () => string[]>;

/** Starts a basic server and registers it as a host. */
export async function openBasic(world: World, name: keyof typeof basicServers): Promise<BasicServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { PORT: String(port), AGENT_PASSWORD: password };
  const server = await startProgram(basicServers[name](), answers(url), env);
  const { id } = await world.api.call<{ id: string }>('POST', '/api/hosts', { name: `basic-${port}`, url, password });
  return {
    id,
    url,
    setReach: (reach) => world.api.call('PATCH', `/api/hosts/${id}`, { reach }),
    stop: async () => {
      await server.stop();
      await removeHost(world, id);
    },
  };
}
