import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A running program. `stop` ends it and waits until it has exited. */
export interface Program {
  readonly output: () => string;
  stop: () => Promise<void>;
}

/** Starts bellhop and waits until `ready`, which gets the output of both streams, returns true. */
export function start(args: string[], ready: Ready, env: Record<string, string> = {}): Promise<Program> {
  return startProgram([process.env.BELLHOP_TEST_BINARY ?? 'bellhop', ...args], ready, env);
}

type Ready = (output: string) => boolean | Promise<boolean>;

/** Starts any program and waits until `ready` returns true. Without that within 90 s, it is stopped again. */
export async function startProgram(
  [command = '', ...args]: string[],
  ready: Ready,
  env: Record<string, string>,
): Promise<Program> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  // A worker that exits stops its programs.
  const end = () => child.kill();
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  let output = '';
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const deadline = Date.now() + 90_000;
  while (!(await ready(output))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop(child);
      throw new Error(`${command} ${args.join(' ')} did not start (${child.exitCode}):\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { output: () => output, stop: () => stop(child) };
}

/** Returns a condition of `start`: that the URL is answered, with whatever status. */
export const answers = (url: string) => () =>
  fetch(url).then(
    () => true,
    () => false,
  );

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  return gone;
}

/** Returns a temporary directory and a function that removes it. */
export function directory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'bellhop-e2e-data-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Below the ports that the system gives to connections and to servers that ask for any port. */
let nextPort = 20_000 + ((process.pid * 37) % 10_000);

/** Returns a port of this machine that is free, and that no program gets unless it asks for exactly this one. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort++;
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
