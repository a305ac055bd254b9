import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from './program.ts';
import type { World } from './world.ts';

const password = 'a-password-of-tests-only';
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** An agent server of the basic flow. */
export interface BasicServer {
  id: string;
  url: string;
  stop: () => Promise<void>;
}

/** Starts a basic server and registers it as a host. `command` is relative to the checkout. */
export async function openBasic(world: World, command: string[], reach: 'direct' | 'relay'): Promise<BasicServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, PORT: String(port), AGENT_PASSWORD: password, CGO_ENABLED: '0' },
    stdio: 'inherit',
  });
  const end = () => child.kill();
  process.once('exit', end);
  const deadline = Date.now() + 40_000;
  const answers = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  while (!(await answers())) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${command.join(' ')} did not start`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { id } = await world.api.call<{ id: string }>('POST', '/api/hosts', { name: `basic-${port}`, url, password });
  await world.api.call('PATCH', `/api/hosts/${id}`, { reach });
  return {
    id,
    url,
    stop: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await gone;
      process.off('exit', end);
      // Otherwise tasks of other tests could be placed on this host.
      const { tasks } = await world.api.call<{ tasks: { id: string; hostId: string }[] }>('GET', '/api/tasks');
      for (const task of tasks.filter((t) => t.hostId === id)) await world.api.call('DELETE', `/api/tasks/${task.id}`);
      await world.api.call('DELETE', `/api/hosts/${id}`);
    },
  };
}
