/** A line of a unified diff. */
export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
  /** Line numbers, from 1; undefined on the side that has no such line. */
  before: number | undefined;
  after: number | undefined;
}

export interface Hunk {
  header: string;
  lines: DiffLine[];
}

export interface PatchFile {
  path: string;
  binary: boolean;
  hunks: Hunk[];
}

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Reads a patch of git, or a plain unified diff. Unknown lines are skipped. */
export function parsePatch(patch: string): PatchFile[] {
  const files: PatchFile[] = [];
  let file: PatchFile | undefined;
  let hunk: Hunk | undefined;
  let before = 0;
  let after = 0;
  const begin = (path: string) => {
    file = { path, binary: false, hunks: [] };
    hunk = undefined;
    files.push(file);
  };
  const lines = patch.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) {
    if (line.startsWith('diff --git ')) {
      begin(/ "?b\/(.*?)"?$/.exec(line)?.[1] ?? '');
      continue;
    }
    const head = hunkHead.exec(line);
    if (head) {
      if (!file) begin('');
      before = Number(head[1]);
      after = Number(head[2]);
      hunk = { header: line, lines: [] };
      file?.hunks.push(hunk);
      continue;
    }
    if (!hunk || (line.startsWith('--- ') && !file)) {
      header(line);
      continue;
    }
    const text = line.slice(1);
    if (line.startsWith('+')) hunk.lines.push({ kind: 'added', text, before: undefined, after: after++ });
    else if (line.startsWith('-')) hunk.lines.push({ kind: 'removed', text, before: before++, after: undefined });
    else if (line.startsWith(' ') || line === '')
      hunk.lines.push({ kind: 'same', text, before: before++, after: after++ });
  }
  return files;

  function header(line: string) {
    if (line.startsWith('+++ ')) {
      const path = line.slice(4).split('\t')[0] ?? '';
      if (!file || file.hunks.length > 0) begin('');
      if (file && path !== '/dev/null') file.path = path.replace(/^"?b\//, '').replace(/"$/, '');
    } else if (line.startsWith('--- ') && !file) {
      begin((line.slice(4).split('\t')[0] ?? '').replace(/^"?a\//, ''));
    } else if (/^(Binary files|GIT binary patch)/.test(line) && file) {
      file.binary = true;
    }
  }
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
