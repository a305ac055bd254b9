// Builds ../module.wasm.gz and ../notices.txt from the packages in ../grammars.json: tree-sitter's
// core, the grammars and glue.c in one WebAssembly module.
//
//   apt-get install clang lld wasi-libc libclang-rt-dev-wasm32 npm
//   node build.mjs [DIRECTORY FOR DOWNLOADS AND OBJECTS]
//
// A further run with the same directory compiles only the objects that are missing there.
// npm fetches each package by name and version; a package whose SHA-512 differs from the list stops
// the build. The module's own SHA-256 and the compiler's version go into ../grammars.json.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const listFile = join(here, '..', 'grammars.json');
const list = JSON.parse(readFileSync(listFile, 'utf8'));
const work = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'grammars-'));
const compile = ['--target=wasm32-wasi', '-Os', '-std=c11', '-DNDEBUG', '-w', '-fvisibility=hidden'];

const output = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
const run = (command, args) => execFileSync(command, args, output);

/** Fetches, checks and unpacks a package; returns its directory. */
function unpack(entry) {
  const target = join(work, `${entry.package.replace('/', '+')}-${entry.version}`);
  mkdirSync(target, { recursive: true });
  const name = `${entry.package}@${entry.version}`;
  const archive = join(target, run('npm', ['pack', '--silent', '--pack-destination', target, name]).trim());
  const sha512 = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (sha512 !== entry.sha512) throw new Error(`${name} has SHA-512 ${sha512}, the list says ${entry.sha512}`);
  run('tar', ['xzf', archive, '-C', target]);
  return join(target, 'package');
}

function objects(name, source) {
  return ['parser', 'scanner'].filter((file) => existsSync(join(source, `${file}.c`))).map((file) => {
    const object = join(work, `${name}.${file}.o`);
    if (!existsSync(object)) run('clang', [...compile, `-I${source}`, '-c', join(source, `${file}.c`), '-o', object]);
    return object;
  });
}

function licenceOf(directory) {
  const file = readdirSync(directory).find((name) => /^licen[cs]e/i.test(name));
  if (!file) throw new Error(`${directory} has no licence`);
  return readFileSync(join(directory, file), 'utf8').trim();
}

const core = unpack(list.core);
const directories = list.grammars.map(unpack);
writeFileSync(join(work, 'grammars.h'), list.grammars.map((g) => `GRAMMAR(${g.symbol})\n`).join(''));
const coreFlags = [`-I${join(core, list.core.path, 'include')}`, `-I${join(core, list.core.path, 'src')}`, `-I${work}`];
const inputs = [
  [join(core, list.core.path, 'src', 'lib.c'), join(work, 'core.o')],
  [join(here, 'glue.c'), join(work, 'glue.o')],
].map(([source, object], i) => {
  run('clang', [...compile, '-O2', ...(i === 0 ? ['-Dsnprintf=trace_snprintf'] : []), ...coreFlags, '-c', source, '-o', object]);
  return object;
});
list.grammars.forEach((g, i) => inputs.push(...objects(g.symbol, join(directories[i], g.path))));

const module = join(work, 'module.wasm');
run('clang', ['--target=wasm32-wasi', '-mexec-model=reactor', '-O2', '-Wl,--strip-all', '-Wl,-z,stack-size=1048576',
  `-Wl,--max-memory=${list.module.maxMemory}`, '-o', module, ...inputs]);
const wasm = readFileSync(module);
writeFileSync(join(here, '..', 'module.wasm.gz'), gzipSync(wasm, { level: 9 }));
list.module.size = wasm.length;
list.module.sha256 = createHash('sha256').update(wasm).digest('hex');
list.module.compiler = run('clang', ['--version']).split('\n')[0];
writeFileSync(listFile, `${JSON.stringify(list, null, 2)}\n`);
const notices = [list.core, ...list.grammars].map((entry, i) => {
  const unicode = join(core, list.core.path, 'src', 'unicode');
  const texts = i === 0 ? [licenceOf(core), licenceOf(unicode)] : [licenceOf(directories[i - 1])];
  return `${entry.package} ${entry.version} (${entry.licence})\n\n${texts.join('\n\n')}\n`;
});
writeFileSync(join(here, '..', 'notices.txt'), notices.join(`\n${'-'.repeat(80)}\n\n`));
console.log(`${wasm.length} bytes, compressed ${readFileSync(join(here, '..', 'module.wasm.gz')).length}`);
