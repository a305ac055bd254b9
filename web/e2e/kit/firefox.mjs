#!/usr/bin/env node
// Starts the Firefox of the system for Playwright, between the two as a proxy of WebDriver BiDi. Playwright sets media
// features at the start of each context; a Firefox that does not know that command keeps its own, which are enough.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { WebSocket, WebSocketServer } from 'ws';

const unknown = 'emulation.setMediaFeaturesOverride';
const announced = /WebDriver BiDi listening on (ws:\S+)/;

const installed = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find((path) => existsSync(path));
const firefox = spawn(process.env.FIREFOX ?? installed ?? 'firefox', process.argv.slice(2), {
  stdio: ['ignore', 'inherit', 'pipe'],
});
firefox.once('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
firefox.once('exit', (code) => process.exit(code ?? 1));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, () => firefox.kill(signal));

/** Passes messages on to Firefox, and answers the unknown command in its place. */
function pass(near, url) {
  const far = new WebSocket(url);
  const early = [];
  far.on('open', () => {
    for (const text of early.splice(0)) far.send(text);
  });
  near.on('message', (data) => {
    const text = data.toString();
    const { id, method } = JSON.parse(text);
    if (method === unknown) near.send(JSON.stringify({ type: 'success', id, result: {} }));
    else if (far.readyState === WebSocket.OPEN) far.send(text);
    else early.push(text);
  });
  far.on('message', (data) => near.send(data.toString()));
  for (const [one, other] of [
    [near, far],
    [far, near],
  ]) {
    one.on('close', () => other.close());
    one.on('error', () => other.terminate());
  }
}

let output = '';
firefox.stderr.on('data', (bytes) => {
  output += bytes.toString();
  const lines = output.split('\n');
  output = lines.pop() ?? '';
  for (const line of lines) {
    const [, url] = announced.exec(line) ?? [];
    if (url === undefined) {
      console.error(line);
      continue;
    }
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    server.on('listening', () => console.error(`WebDriver BiDi listening on ws://127.0.0.1:${server.address().port}`));
    server.on('connection', (near, request) => pass(near, url + request.url));
  }
});
