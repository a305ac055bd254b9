import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

function build(binary: string): string {
  const built = spawnSync('go', ['build', '-trimpath', '-o', binary, './cmd/bellhop'], {
    cwd: repository,
    env: { ...process.env, CGO_ENABLED: '0' },
    encoding: 'utf8',
  });
  if (built.status !== 0) throw new Error(`go build failed: ${built.error?.message ?? built.stderr}`);
  return binary;
}

/**
 * Runs broker, agent host and demo agent for the tests. Bellhop is built from this checkout, unless BELLHOP_TEST_BINARY
 * names a binary.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'bellhop-client-'));
  const binary = process.env.BELLHOP_TEST_BINARY || build(join(dir, 'bellhop'));
  const data = join(dir, 'data');
  const dev = spawn(binary, ['dev', '--data', data, '--listen', '127.0.0.1:0', '--host-listen', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await started(dev);
  const file = join(data, 'dev.json');
  if (!existsSync(file)) throw new Error('bellhop dev wrote no dev.json');
  const { brokerUrl, hostUrl, apiToken, hostPassword } = JSON.parse(readFileSync(file, 'utf8')) as Record<
    string,
    string
  >;
  project.provide('brokerUrl', brokerUrl ?? '');
  project.provide('hostUrl', hostUrl ?? '');
  project.provide('token', apiToken ?? '');
  project.provide('devFile', file);
  project.provide('hostPassword', hostPassword ?? '');
  project.provide('operatorKey', readFileSync(join(data, 'host', 'operator-key'), 'utf8').trim());
  return async () => {
    const ended = new Promise((resolve) => dev.once('exit', resolve));
    dev.kill('SIGTERM');
    await ended;
    rmSync(dir, { recursive: true });
  };
}

function started(dev: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    dev.stdout?.on('data', (text: Buffer) => {
      output += text.toString();
      if (output.includes('everything is kept in')) resolve();
    });
    dev.stderr?.on('data', (text: Buffer) => (output += text.toString()));
    dev.once('exit', (code) => reject(new Error(`bellhop dev ended with ${code}: ${output}`)));
  });
}
