import type { DiffFile } from '../app/types.ts';
import type { DiffLine, PatchFile } from './parse.ts';
import { longestCode, type LineComment } from './review.ts';

/** A file of the changes with the comments on it. */
export interface Anchors {
  /** The comments at each line, in the order in which they were written. */
  byLine: ReadonlyMap<DiffLine, readonly LineComment[]>;
  /** Comments whose line is not among the changes any more. */
  gone: readonly LineComment[];
}

/**
 * Distributes comments to the files that they were written on. A renamed file is found by either name. The last list
 * has the comments on files that are not among the changes any more.
 */
export function byFile(comments: readonly LineComment[], files: readonly DiffFile[]): LineComment[][] {
  const now = new Map(files.map((f, i) => [f.path, i]));
  const before = new Map(files.flatMap((f, i) => (f.oldPath === undefined ? [] : [[f.oldPath, i] as const])));
  const lists: LineComment[][] = Array.from({ length: files.length + 1 }, () => []);
  for (const c of comments) lists[now.get(c.path) ?? before.get(c.path) ?? files.length]?.push(c);
  return lists;
}

/**
 * Finds the lines of comments. A line that has moved is found by its text: of several, the nearest to its old place.
 * A line whose text has changed is gone.
 */
export function anchor(comments: readonly LineComment[], file: PatchFile | undefined): Anchors {
  const byLine = new Map<DiffLine, LineComment[]>();
  const gone: LineComment[] = [];
  const lines = comments.length > 0 ? (file?.hunks.flatMap((h) => h.lines) ?? []) : [];
  for (const comment of comments) {
    const line = nearest(lines, comment);
    if (line) byLine.set(line, [...(byLine.get(line) ?? []), comment]);
    else gone.push(comment);
  }
  return { byLine, gone };
}

function nearest(lines: readonly DiffLine[], { side, line, code }: LineComment): DiffLine | undefined {
  let best: DiffLine | undefined;
  const distance = (l: DiffLine) => Math.abs((l[side] ?? 0) - line);
  for (const l of lines) {
    if (l[side] === undefined || l.text.slice(0, longestCode) !== code) continue;
    // An empty line says nothing about its place.
    if (code.trim() === '' && l[side] !== line) continue;
    if (!best || distance(l) < distance(best)) best = l;
  }
  return best;
}
