import { spawnSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { directory } from './program.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Builds the documentation. */
export function buildSite(): { url: string; remove: () => void } {
  const { path, remove } = directory();
  const command = ['run', '-trimpath', '-ldflags=-w', './internal/site/build', '-o', path];
  const built = spawnSync('go', command, { cwd: root, encoding: 'utf8', env: { ...process.env, CGO_ENABLED: '0' } });
  if (built.status !== 0) throw new Error(built.error?.message ?? built.stderr);
  return { url: pathToFileURL(path).href, remove };
}
