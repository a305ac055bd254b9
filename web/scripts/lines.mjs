// Fails for a line of more than 120 characters. The formatter breaks code but neither comments nor literals: a line may
// be longer only if a text, a template or a pattern begins on it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const columns = 120;
const root = new URL('..', import.meta.url).pathname;
const source = /^(?!.*(node_modules|dist|results)\/).*\.(tsx?|mjs|js|css)$/;
const literal = /^\s*([\w$.]+:|return|\?|:|const \w+ =)?\s*['"`/](?![/*])/;

const long = readdirSync(root, { recursive: true })
  .filter((file) => source.test(file))
  .flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, at) => ([...line].length > columns && !literal.test(line) ? [`${file}:${at + 1}`] : [])),
  );
for (const place of long) console.error(`${place}: longer than ${columns} characters`);
process.exit(long.length > 0 ? 1 : 0);
