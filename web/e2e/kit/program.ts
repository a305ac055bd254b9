import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A running bellhop; stop ends it and waits until it is gone. */
export interface Program {
  readonly output: () => string;
  stop: () => Promise<void>;
}

/** Starts bellhop and waits until it is ready, which its output (both streams together) or a probe of its own tells. */
export async function start(args: string[], ready: (said: string) => boolean | Promise<boolean>, env: Record<string, string> = {}): Promise<Program> {
  const child = spawn(process.env['BELLHOP_E2E_BINARY'] ?? 'bellhop', args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  // A worker that breaks down takes its programs along.
  const end = () => child.kill();
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  let said = '';
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const deadline = Date.now() + 25_000;
  while (!(await ready(said))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop(child);
      throw new Error(`bellhop ${args[0]} did not start (${child.exitCode}):\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { output: () => said, stop: () => stop(child) };
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  return gone;
}

/** A directory of its own, and how to get rid of it. */
export function directory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'bellhop-e2e-data-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
