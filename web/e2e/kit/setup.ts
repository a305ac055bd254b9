import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
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

/** Builds a command of this checkout and returns its path. */
export function build(dir: string, what: string): string {
  const binary = join(dir, basename(what));
  run('go', ['build', '-trimpath', '-ldflags=-w', '-o', binary, what], join(web, '..'));
  return binary;
}

/**
 * Builds the program from this checkout, console included, unless BELLHOP_TEST_BINARY names one that has its console.
 * Workers read its path from that variable, that of the forge of tests from BELLHOP_E2E_FORGE, and that of the example
 * server in Go from BELLHOP_E2E_SERVER.
 */
export default function setup(): () => void {
  const dir = mkdtempSync(join(tmpdir(), 'bellhop-e2e-'));
  if (!process.env.BELLHOP_TEST_BINARY) {
    if (!existsSync(join(web, 'dist/index.html'))) run('npm', ['run', 'build'], web);
    process.env.BELLHOP_TEST_BINARY = build(dir, './cmd/bellhop');
  }
  process.env.BELLHOP_E2E_FORGE = build(dir, './internal/testenv/fakeforge/cmd/fakeforge');
  process.env.BELLHOP_E2E_SERVER = build(dir, './examples/agent-server/server.go');
  return () => rmSync(dir, { recursive: true });
}
