import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { directory, freePort } from './program.ts';
import { addHost, removeHost, startHost, type World } from './world.ts';

/** A host whose agent "late" is not installed, with a npm that installs it without a network. */
export interface InstallingHost {
  id: string;
  /** Lets one run of npm go on. It waits until npm has begun. */
  release: () => Promise<void>;
  stop: () => Promise<void>;
}

const agent = fileURLToPath(new URL('../agents/installed.mjs', import.meta.url));

/** The npm of tests prints a line, waits for the test, and puts one package in its place. */
const npm = (gate: string) => `#!/bin/sh
echo "npm http fetch GET 200 the first part"
read -r released <"${gate}"
package=node_modules/@agentclientprotocol/claude-agent-acp
mkdir -p $package/dist
echo '{"version":"0.49.0","type":"module"}' >$package/package.json
cp "${agent}" $package/dist/index.js
echo "added 1 package"
`;

export async function openInstallingHost(world: World, name: string, allowed = true): Promise<InstallingHost> {
  const { path, remove } = directory();
  const gate = join(path, 'gate');
  const bin = join(path, 'bin');
  mkdirSync(bin);
  execFileSync('mkfifo', [gate]);
  writeFileSync(join(bin, 'npm'), npm(gate), { mode: 0o755 });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = 'agents:\n  late:\n    kind: acp\n    command: [claude-agent-acp]\n';
  const host = await startHost(
    world,
    { path, port, config, publicUrl: url },
    {
      PATH: `${bin}:${process.env.PATH}`,
      BELLHOP_AGENTS_DIR: join(path, 'agents'),
      npm_config_registry: 'http://127.0.0.1:1/',
      ...(allowed && { BELLHOP_HOST_ALLOW_INSTALLS: 'true' }),
    },
  );
  const id = await addHost(world, name, url);
  return {
    id,
    release: () => writeFile(gate, 'go\n'),
    stop: async () => {
      await host.stop();
      remove();
      await removeHost(world, id);
    },
  };
}
