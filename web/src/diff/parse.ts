import { pathInPatch } from './names.ts';

/** A line of a unified diff. */
export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
  /** Line numbers, from 1; undefined on the side that has no such line. */
  before: number | undefined;
  after: number | undefined;
  /** The file ends with this line, and the line does not end with a line break. */
  unended?: true;
}

export interface Hunk {
  header: string;
  lines: DiffLine[];
  /** Only the first lines are here: the others are shown on demand. */
  cut?: true;
}

export interface PatchFile {
  path: string;
  binary: boolean;
  hunks: Hunk[];
  /** The lines before the first hunk: modes, names, and the hashes of both contents. */
  head: string[];
}

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Reads a patch of git, or a plain unified diff. Unknown lines are skipped. */
export function parsePatch(patch: string): PatchFile[] {
  const files: PatchFile[] = [];
  let file: PatchFile | undefined;
  let hunk: Hunk | undefined;
  let before = 0;
  let after = 0;
  const begin = (path: string): PatchFile => {
    const begun: PatchFile = { path, binary: false, hunks: [], head: [] };
    file = begun;
    hunk = undefined;
    files.push(begun);
    return begun;
  };
  const lines = patch.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) {
    if (line.startsWith('diff --git ')) {
      begin(nameOfBoth(line.slice('diff --git '.length))).head.push(line);
      continue;
    }
    const head = hunkHead.exec(line);
    if (head) {
      before = Number(head[1]);
      after = Number(head[2]);
      const owner = file ?? begin('');
      hunk = { header: line, lines: [] };
      owner.hunks.push(hunk);
      continue;
    }
    if (!hunk) {
      if (!file && /^(---|\+\+\+) /.test(line)) begin('');
      if (file) readHead(file, line);
      continue;
    }
    const text = line.slice(1);
    if (line.startsWith('+')) hunk.lines.push({ kind: 'added', text, before: undefined, after: after++ });
    else if (line.startsWith('-')) hunk.lines.push({ kind: 'removed', text, before: before++, after: undefined });
    else if (line.startsWith(' ') || line === '')
      hunk.lines.push({ kind: 'same', text, before: before++, after: after++ });
    else if (line.startsWith('\\')) markUnended(hunk);
  }
  return files;
}

const signs = { same: ' ', added: '+', removed: '-' } as const;

/** A hunk as it is in the patch of git, from which it was read. */
export function hunkText({ header, lines }: Hunk): string {
  const text = lines.map((l) => `${signs[l.kind]}${l.text}\n${l.unended ? '\\ No newline at end of file\n' : ''}`);
  return `${header}\n${text.join('')}`;
}

/** Which lines of the present file a hunk is about, in a few words. */
export function placeOf({ header }: Hunk): string {
  const [, start = '', count = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(header) ?? [];
  const last = Number(start) + Number(count) - 1;
  if (count === '0') return start === '0' ? 'all lines' : `lines removed after line ${start}`;
  return count === '1' ? `line ${start}` : `lines ${start} to ${last}`;
}

function markUnended(hunk: Hunk) {
  const last = hunk.lines.at(-1);
  if (last) last.unended = true;
}

/** Reads a line between "diff --git" and the first hunk. The name after the change wins over the one before it. */
function readHead(file: PatchFile, line: string) {
  file.head.push(line);
  if (line.startsWith('--- ')) file.path = nameOf(line.slice(4), 'a/') || file.path;
  else if (line.startsWith('+++ ')) file.path = nameOf(line.slice(4), 'b/') || file.path;
  else if (line.startsWith('rename to ')) file.path = pathInPatch(line.slice('rename to '.length));
  else if (/^(Binary files|GIT binary patch)/.test(line)) file.binary = true;
}

/** The name in a "---" or "+++" line; "" for the side on which the file does not exist. */
function nameOf(text: string, prefix: string): string {
  // git ends a name that has a space with a tab. A tab in a name would be quoted.
  const name = pathInPatch(text.split('\t')[0] ?? '');
  if (name === '/dev/null') return '';
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The name in "a/name b/name". Names that differ are in other lines too. */
function nameOfBoth(text: string): string {
  const quoted = /^"a\/.*" ("b\/.*")$/.exec(text)?.[1];
  if (quoted) return pathInPatch(quoted).slice(2);
  const half = (text.length - 1) / 2;
  const name = text.slice(2, half);
  if (text === `a/${name} b/${name}`) return pathInPatch(name);
  return / "?b\/(.*?)"?$/.exec(text)?.[1] ?? '';
}

export interface Pair {
  left: DiffLine | undefined;
  right: DiffLine | undefined;
}

/** Pairs lines for a side-by-side view: a run of removed lines stands beside the run of added lines that follows it. */
export function pairs(lines: readonly DiffLine[]): Pair[] {
  const out: Pair[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (!line) break;
    if (line.kind === 'same') {
      out.push({ left: line, right: line });
      at++;
      continue;
    }
    const removed: DiffLine[] = [];
    const added: DiffLine[] = [];
    for (; lines[at]?.kind === 'removed'; at++) removed.push(lines[at] as DiffLine);
    for (; lines[at]?.kind === 'added'; at++) added.push(lines[at] as DiffLine);
    for (let i = 0; i < Math.max(removed.length, added.length); i++) out.push({ left: removed[i], right: added[i] });
  }
  return out;
}
