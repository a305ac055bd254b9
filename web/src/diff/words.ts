import { pairs, type DiffLine, type Hunk } from './parse.ts';

/** Characters of a line, from the first up to but without the second. */
export type Range = readonly [from: number, to: number];

/** Longer lines are compared by their beginning and end only. */
const longestLine = 2_000;
/** How many pairs of words a file's comparisons may take together. */
const mostSteps = 2_000_000;
/** Lines that share less of their characters were replaced, so that marks in them would explain nothing. */
const leastShared = 0.2;

/** The changed words in the lines of a file that were changed, not only added or removed. */
export function markWords(hunks: readonly Hunk[]): ReadonlyMap<DiffLine, readonly Range[]> {
  const marks = new Map<DiffLine, readonly Range[]>();
  const budget = { steps: mostSteps };
  for (const hunk of hunks) {
    for (const { left, right } of pairs(hunk.lines)) {
      if (!left || !right || left === right) continue;
      const found = changedWords(left.text, right.text, budget);
      if (!found) continue;
      marks.set(left, found.before);
      marks.set(right, found.after);
    }
  }
  return marks;
}

const word = /[\p{L}\p{N}_]+|\s+|./gsu;

/** Compares two lines by their words; null when they have too little in common. */
export function changedWords(
  before: string,
  after: string,
  budget = { steps: mostSteps },
): { before: Range[]; after: Range[] } | null {
  if (before.length > longestLine || after.length > longestLine) return changedMiddle(before, after);
  const a = before.match(word) ?? [];
  const b = after.match(word) ?? [];
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let end = 0;
  while (end < a.length - from && end < b.length - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const steps = (a.length - from - end) * (b.length - from - end);
  if (steps > budget.steps) return changedMiddle(before, after);
  budget.steps -= steps;
  const [keptA, keptB] = longestCommon(a.slice(from, a.length - end), b.slice(from, b.length - end));
  const isKept = (kept: ReadonlySet<number>, count: number) => (i: number) =>
    i < from || i >= count - end || kept.has(i - from);
  const one = ranges(a, isKept(keptA, a.length));
  const two = ranges(b, isKept(keptB, b.length));
  const shared = Math.min(1 - share(before, one), 1 - share(after, two));
  return shared < leastShared ? null : { before: one, after: two };
}

/** Marks all that lies between the common beginning and the common end. */
function changedMiddle(before: string, after: string): { before: Range[]; after: Range[] } | null {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let end = 0;
  while (end < most - from && before.at(-1 - end) === after.at(-1 - end)) end++;
  if (from + end < leastShared * Math.max(before.length, after.length)) return null;
  const middle = (text: string): Range[] => (text.length > from + end ? [[from, text.length - end]] : []);
  return { before: middle(before), after: middle(after) };
}

/** The places of the longest common subsequence in both lists. */
function longestCommon(a: readonly string[], b: readonly string[]): [Set<number>, Set<number>] {
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * width + j] =
        a[i] === b[j]
          ? (best[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(best[(i + 1) * width + j] ?? 0, best[i * width + j + 1] ?? 0);
  const [inA, inB] = [new Set<number>(), new Set<number>()];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      inA.add(i++);
      inB.add(j++);
    } else if ((best[(i + 1) * width + j] ?? 0) >= (best[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return [inA, inB];
}

/** Joins neighbouring words that are not kept. */
function ranges(words: readonly string[], isKept: (i: number) => boolean): Range[] {
  const out: Range[] = [];
  let at = 0;
  words.forEach((w, i) => {
    const last = out.at(-1);
    if (!isKept(i)) {
      if (last && last[1] === at) out[out.length - 1] = [last[0], at + w.length];
      else out.push([at, at + w.length]);
    }
    at += w.length;
  });
  return out;
}

/** The part of a line's visible characters that lies in the ranges. */
function share(text: string, marked: readonly Range[]): number {
  const visible = (part: string) => part.replace(/\s/gu, '').length;
  const all = visible(text);
  return all === 0 ? 0 : marked.reduce((n, [from, to]) => n + visible(text.slice(from, to)), 0) / all;
}
