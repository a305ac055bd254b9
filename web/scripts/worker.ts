import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/**
 * Adds the service worker to the build, as one classic script with a fixed name: browsers look for it under its first
 * address for ever. It gets the names of all files of the build, and a name for this build.
 */
export function worker(): Plugin {
  return {
    name: 'worker',
    apply: 'build',
    async generateBundle(_, bundle) {
      // The broker serves no file whose name begins with a point.
      const fixed = readdirSync(path('public')).filter((name) => !name.startsWith('.'));
      const files = [...Object.keys(bundle).filter((name) => !/\.html$|^manifest\.json$/.test(name)), ...fixed].sort();
      const hash = createHash('sha256').update(files.join('\n'));
      for (const name of fixed) hash.update(readFileSync(path(`public/${name}`)));
      const version = hash.digest('hex').slice(0, 16);
      const made = await build({
        configFile: false,
        logLevel: 'warn',
        publicDir: false,
        define: { FILES: JSON.stringify(files), BUILD: JSON.stringify(version) },
        build: {
          write: false,
          target: 'es2023',
          lib: { entry: path('src/worker/main.ts'), formats: ['iife'], name: 'worker', fileName: () => 'sw.js' },
        },
      });
      const outputs = (Array.isArray(made) ? made : [made]).flatMap((one) => ('output' in one ? one.output : []));
      const chunk = outputs.find((one) => one.type === 'chunk');
      if (chunk?.type !== 'chunk' || outputs.length !== 1) this.error('the service worker must be one script');
      this.emitFile({ type: 'asset', fileName: 'sw.js', source: chunk.code });
    },
  };
}
