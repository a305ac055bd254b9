// Fails the build when what a browser loads first is over its budget.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const firstLoad = 150 * 1024;
const dist = new URL('../dist/', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('manifest.json', dist), 'utf8'));
const size = (file) => gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length;

const kib = (n) => `${(n / 1024).toFixed(1)} KiB`;

/** The files that a browser loads first for a page. */
function firstFiles(page) {
  const files = new Set([page]);
  const walk = (key) => {
    const chunk = manifest[key];
    if (files.has(chunk.file)) return;
    files.add(chunk.file);
    for (const css of chunk.css ?? []) files.add(css);
    for (const next of chunk.imports ?? []) walk(next);
  };
  walk(page);
  return [...files];
}

const chunks = Object.values(manifest).filter((c) => c.isDynamicEntry);
for (const page of ['index.html', 'shared.html']) {
  const files = firstFiles(page);
  const total = files.reduce((sum, file) => sum + size(file), 0);
  console.log(`first load of ${page}: ${kib(total)} gzip of ${kib(firstLoad)}, ${files.length} files`);
  if (total <= firstLoad) continue;
  for (const file of files) console.error(`  ${kib(size(file)).padStart(10)}  ${file}`);
  console.error('The first load is over its budget: load a route or a library lazily.');
  process.exit(1);
}
if (chunks.length < 5) {
  console.error('Routes are no longer loaded lazily.');
  process.exit(1);
}
