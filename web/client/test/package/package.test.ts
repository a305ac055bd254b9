import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

interface Locked {
  version?: string;
  resolved?: string;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'bellhop-package-'));
const app = join(dir, 'app');
let tarball = '';
let files: string[] = [];

const run = (command: string, args: string[], cwd: string) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

beforeAll(() => {
  run('npm', ['run', 'build'], root);
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], root)) as [
    { filename: string; files: { path: string }[] },
  ];
  tarball = join(dir, packed.filename);
  files = packed.files.map(({ path }) => path);
});
afterAll(() => rmSync(dir, { recursive: true }));

test('the package holds code, types and README, and nothing else', () => {
  expect(files.filter((path) => !/^(dist\/.+\.(js|d\.ts)|src\/.+\.ts)$/.test(path)).sort()).toEqual([
    'README.md',
    'package.json',
  ]);
  for (const entry of [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/ai-sdk.js',
    'dist/ai-sdk.d.ts',
    'dist/history.js',
    'dist/history.d.ts',
  ])
    expect(files).toContain(entry);
});

test('it has no dependencies at run time', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  expect(manifest.dependencies).toBeUndefined();
  expect(manifest.peerDependencies).toEqual({ ai: '>=5.0.233 <6 || >=6.0.250 <7 || >=7.0.61' });
  for (const version of Object.values(manifest.devDependencies!)) expect(version).toMatch(/^(npm:.+@)?\d+\.\d+\.\d+$/);
});

describe.each(['.', 'examples/react', 'examples/assistant-ui'])('the lock file in %s', (folder) => {
  const { packages } = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const entries = Object.entries(packages).filter(([place]) => place.includes('node_modules/'));

  test('does not name where packages came from', () => {
    expect(
      entries.flatMap(([, { resolved = '' }]) => resolved).filter((from) => from !== '' && from !== '../..'),
    ).toEqual([]);
  });

  test('has every package for every platform, so that npm ci installs from it alone', () => {
    const names = new Set(entries.map(([place]) => place.replace(/^.*node_modules\//, '')));
    const wanted = entries.flatMap(([, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies }),
    );
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
    for (const [place, { version, link }] of entries) expect(link ?? version, place).toBeTruthy();
  });
});

// 7 KiB, because it ends the turns of basic hosts and believes only answers that name broker and request.
test('the AI SDK entry is at most 7 KiB, compressed', async () => {
  const contents = `export * from ${JSON.stringify(join(root, 'dist/ai-sdk.js'))}`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  const { text, contents: bytes } = outputFiles[0]!;
  expect(text).not.toMatch(/\b(import|require)\b\s*[({"']/);
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(7 * 1024);
});

test('an empty Vite app uses it in one line', () => {
  mkdirSync(join(app, 'src'), { recursive: true });
  writeFileSync(join(app, 'package.json'), '{"name":"app","private":true,"type":"module"}');
  // The package has no dependencies and its peer is linked below: nothing is downloaded.
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--legacy-peer-deps', tarball], app);
  for (const name of [
    'react',
    'react-dom',
    'ai',
    'zod',
    '@ai-sdk/react',
    '@assistant-ui/react',
    '@assistant-ui/react-ai-sdk',
    '@types/react',
    '@types/react-dom',
    '@types/node',
    'vite',
  ]) {
    const place = join(app, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), place);
  }
  writeFileSync(join(app, 'index.html'), '<main id="root"></main><script type="module" src="/src/main.tsx"></script>');
  writeFileSync(
    join(app, 'src/main.tsx'),
    `
    import { useChat } from '@ai-sdk/react';
    import { bellhop } from '@bellhop/client/ai-sdk';
    import { createRoot } from 'react-dom/client';

    function Chat({ taskId }: { taskId: string }) {
      const { messages, sendMessage } = useChat({ transport: bellhop({ taskId }) });
      return <button onClick={() => void sendMessage({ text: 'hi' })}>{messages.length}</button>;
    }
    createRoot(document.getElementById('root')!).render(<Chat taskId="t" />);
  `,
  );
  cpSync(join(root, 'examples/react/tsconfig.json'), join(app, 'tsconfig.json'));
  checkAndBuild(app);
});

test.each(['react', 'assistant-ui'])('the example %s is built with it', (name) => {
  const example = join(dir, name);
  cpSync(join(root, 'examples', name), example, {
    recursive: true,
    filter: (path) => !/\/(node_modules|dist)$/.test(path),
  });
  symlinkSync(join(app, 'node_modules'), join(example, 'node_modules'));
  checkAndBuild(example);
});

function checkAndBuild(cwd: string): void {
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', cwd], cwd);
  run(
    process.execPath,
    [join(root, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'error', '--target', 'es2022'],
    cwd,
  );
  expect(readFileSync(join(cwd, 'dist/index.html'), 'utf8')).toContain('<script type="module"');
}
