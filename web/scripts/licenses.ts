import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const file = fileURLToPath(new URL('../licenses.json', import.meta.url));

/** A package of the npm registry whose code is in the console. */
interface Linked {
  name: string;
  version: string;
  license: string;
  texts: string[];
}

/**
 * Compares the packages that the console links with licenses.json, from which the notices of the
 * binary are made. The build fails when they differ; BELLHOP_LICENSES=write replaces the file.
 */
export function licenses(): Plugin {
  return {
    name: 'licenses',
    apply: 'build',
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        for (const id of chunk.type === 'chunk' ? Object.keys(chunk.modules) : []) {
          const folder = packageOf(id);
          if (folder) folders.add(folder);
        }
      }
      const text = `${JSON.stringify([...folders].map(describe).sort(byName), null, 2)}\n`;
      if (process.env.BELLHOP_LICENSES === 'write') writeFileSync(file, text);
      else if (!existsSync(file) || readFileSync(file, 'utf8') !== text)
        this.error('licenses.json is out of date. Run: npm run licenses, then go test ./internal/licenses -update');
    },
  };
}

const byName = (a: Linked, b: Linked) => (a.name < b.name ? -1 : 1);

/** The folder of the package that a module belongs to; undefined for the project's own modules. */
function packageOf(id: string): string | undefined {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
}

function describe(folder: string): Linked {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Linked;
  const files = readdirSync(folder)
    .filter((entry) => /^(licen[cs]e|copying|notice)/i.test(entry))
    .sort();
  const texts = files.map((entry) => readFileSync(join(folder, entry), 'utf8').replaceAll('\r\n', '\n').trim());
  if (!license && texts.length === 0) throw new Error(`${name} in ${dirname(folder)} names no license`);
  return { name, version, license, texts };
}
