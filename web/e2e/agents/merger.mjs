// An agent for tests that speaks the headless interface (protocol section 4). It writes, merges and drafts on
// request, and holds its turn until a file appears.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

let session;
const send = (line) => process.stdout.write(`${JSON.stringify({ session_id: session, ...line })}\n`);
const identity = ['-c', 'user.name=Merger', '-c', 'user.email=merger@example.org'];
const git = (...args) => execFileSync('git', [...identity, ...args], { encoding: 'utf8' }).trim();

/** Merges a branch. Of conflicts it keeps both sides. */
function merge(branch) {
  try {
    git('merge', '--no-edit', branch);
    return `Merged ${branch}.`;
  } catch {
    const files = git('diff', '--name-only', '--diff-filter=U').split('\n').filter(Boolean);
    if (files.length === 0) throw new Error(`${branch} cannot be merged`);
    for (const file of files) writeFileSync(file, readFileSync(file, 'utf8').replace(/^(<{7}|={7}|>{7}).*\n/gm, ''));
    git('add', '--all');
    git('commit', '--no-edit');
    return `Merged ${branch} and resolved ${files.join(', ')}.`;
  }
}

/** Waits until the test makes the file "go" in the workspace. */
const released = () =>
  new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!existsSync('go')) return;
      clearInterval(timer);
      rmSync('go');
      resolve(undefined);
    }, 50);
  });

async function answer(text) {
  const [, file, content] = /^write (\S+): (.*)$/.exec(text) ?? [];
  if (file) {
    writeFileSync(file, `${content}\n`);
    git('add', '--all');
    git('commit', '-m', text);
  }
  const branches = [...text.matchAll(/"git merge (origin\/[^"]+)"/g)].map(([, branch]) => branch);
  if (branches.length > 0) return branches.map(merge).join(' ');
  if (text === 'hold') await released();
  if (!text.includes('pull request')) return 'done';
  if (existsSync('hold')) await released();
  if (existsSync('fail')) throw new Error('no model');
  return '```\n# Serve soup\n\nThe menu had **none**.\n```';
}

createInterface({ input: process.stdin })
  .on('line', async (raw) => {
    const line = JSON.parse(raw);
    session = line.session_id ?? session;
    if (line.type !== 'input') return;
    send({ type: 'state', state: 'thinking' });
    try {
      send({ type: 'chunk', content: await answer(line.text) });
      send({ type: 'state', state: 'waiting_for_input', reason: 'done' });
    } catch (error) {
      send({ type: 'chunk', content: 'Half a dra' });
      send({ type: 'state', state: 'waiting_for_input', reason: 'error', message: String(error) });
    }
  })
  .on('close', () => process.exit(0));
