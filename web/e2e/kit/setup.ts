import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../..', import.meta.url));

function run(command: string, args: string[], cwd: string) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, CGO_ENABLED: '0' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stdout + stderr}`);
}

/** Builds the program from this checkout, console included; workers read its path from BELLHOP_E2E_BINARY. */
export default function setup(): (() => void) | undefined {
  if (process.env.BELLHOP_E2E_BINARY) return undefined;
  if (!existsSync(join(web, 'dist/index.html'))) run('npm', ['run', 'build'], web);
  const dir = mkdtempSync(join(tmpdir(), 'bellhop-e2e-'));
  const binary = join(dir, 'bellhop');
  run('go', ['build', '-o', binary, './cmd/bellhop'], join(web, '..'));
  process.env.BELLHOP_E2E_BINARY = binary;
  return () => rmSync(dir, { recursive: true });
}
