import { useCallback, useSyncExternalStore } from 'react';
import { readSetting, writeSetting } from '../settings/store.ts';
import { newId } from '../task/id.ts';
import type { PatchFile } from './parse.ts';

/** Where a comment was written: a line of the file before or after the changes. */
export interface Place {
  path: string;
  side: 'before' | 'after';
  /** From 1. */
  line: number;
  /** The text of the line, by which it is found again when the changes are other ones. */
  code: string;
}

export interface LineComment extends Place {
  id: string;
  /** "" until it is added. */
  text: string;
  /** The text in its open form; undefined when the form is closed. */
  draft?: string | undefined;
}

/** What a user keeps about the changes of a task, in the browser, until the comments are sent. */
export interface Review {
  comments: readonly LineComment[];
  /** Hashes of the files that were viewed, each with its content. */
  viewed: readonly string[];
  /** A random number that all hashes of this review depend on, so that no agent can write a file with a given hash. */
  seed: number;
}

/** Characters of a line's text that are kept with a comment. */
export const longestCode = 2_000;
/** More viewed files are forgotten, the oldest first. */
const mostViewed = 4_000;

const keyOf = (taskId: string) => `review.${taskId}`;
const empty = (): Review => ({ comments: [], viewed: [], seed: crypto.getRandomValues(new Uint32Array(1))[0] ?? 1 });

/** The newest review of each task beside its stored text, so that an unchanged review keeps its identity. */
const known = new Map<string, { raw: string | null; review: Review }>();
const listeners = new Set<() => void>();

export function readReview(taskId: string): Review {
  const raw = readSetting(keyOf(taskId));
  const before = known.get(taskId);
  if (before && before.raw === raw) return before.review;
  const review = parseReview(raw);
  known.set(taskId, { raw, review });
  return review;
}

/** Changes the newest review, which another tab may have written. A quiet change does not render the view again. */
export function changeReview(taskId: string, change: (review: Review) => Review, quiet = false) {
  const review = change(readReview(taskId));
  const raw = JSON.stringify(review);
  writeSetting(keyOf(taskId), raw);
  known.set(taskId, { raw, review });
  if (!quiet) for (const listener of listeners) listener();
}

export function useReview(taskId: string): Review {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => readReview(taskId), [taskId]),
  );
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

/** Reads a stored review. Unreadable parts are left out. */
export function parseReview(raw: string | null): Review {
  let stored: unknown;
  try {
    stored = JSON.parse(raw ?? 'null');
  } catch {
    stored = null;
  }
  const { comments, viewed, seed } = (stored ?? {}) as { comments?: unknown; viewed?: unknown; seed?: unknown };
  const fresh = empty();
  return {
    comments: Array.isArray(comments) ? comments.filter(isComment) : fresh.comments,
    viewed: Array.isArray(viewed) ? viewed.filter((v) => typeof v === 'string') : fresh.viewed,
    seed: typeof seed === 'number' ? seed : fresh.seed,
  };
}

function isComment(value: unknown): value is LineComment {
  if (typeof value !== 'object' || value === null) return false;
  const { id, path, side, line, code, text, draft } = value as Record<keyof LineComment, unknown>;
  return (
    [id, path, code, text].every((v) => typeof v === 'string') &&
    (side === 'before' || side === 'after') &&
    typeof line === 'number' &&
    (draft === undefined || typeof draft === 'string')
  );
}

/** The comment whose form takes the focus when it appears. */
let focusNext = '';

/** Whether the user has just opened this form. It answers true once. */
export function takeFocus(id: string): boolean {
  if (focusNext !== id) return false;
  focusNext = '';
  return true;
}

/** Opens the form for a new comment on a line, or the one that is open there already. */
export function openComment(taskId: string, place: Place) {
  const code = place.code.slice(0, longestCode);
  const open = readReview(taskId).comments.find(
    (c) => c.text === '' && c.path === place.path && c.side === place.side && c.line === place.line && c.code === code,
  );
  if (open) {
    const forms = [...document.querySelectorAll<HTMLElement>('[data-comment]')];
    forms
      .find((f) => f.dataset.comment === open.id)
      ?.querySelector('textarea')
      ?.focus();
    return;
  }
  const id = newId();
  focusNext = id;
  changeReview(taskId, (r) => ({ ...r, comments: [...r.comments, { ...place, code, id, text: '', draft: '' }] }));
}

const changeComment = (taskId: string, id: string, change: Partial<LineComment>, quiet = false) =>
  changeReview(
    taskId,
    (r) => ({ ...r, comments: r.comments.map((c) => (c.id === id ? { ...c, ...change } : c)) }),
    quiet,
  );

export function editComment(taskId: string, { id, text }: LineComment) {
  focusNext = id;
  changeComment(taskId, id, { draft: text });
}

export const keepDraft = (taskId: string, id: string, draft: string) => changeComment(taskId, id, { draft }, true);

export const saveComment = (taskId: string, id: string, text: string) =>
  changeComment(taskId, id, { text, draft: undefined });

export const closeForm = (taskId: string, { id, text }: LineComment) =>
  text === '' ? removeComments(taskId, [id]) : changeComment(taskId, id, { draft: undefined });

export const removeComments = (taskId: string, ids: readonly string[]) =>
  changeReview(taskId, (r) => ({ ...r, comments: r.comments.filter((c) => !ids.includes(c.id)) }));

export const restoreComment = (taskId: string, comment: LineComment) =>
  changeReview(taskId, (r) => ({ ...r, comments: [...r.comments, comment] }));

/** Marks a file's content as viewed, or removes the mark. */
export const markViewed = (taskId: string, file: PatchFile, viewed: boolean) =>
  changeReview(taskId, (r) => {
    const hash = hashFile(file, r.seed);
    const others = r.viewed.filter((v) => v !== hash);
    return { ...r, viewed: viewed ? [...others, hash].slice(-mostViewed) : others };
  });

/** A hash of all that the changes say about a file: its names, modes, hashes and lines. */
export function hashFile(file: PatchFile, seed: number): string {
  const hash = new Hash(seed);
  hash.add(file.path);
  for (const line of file.head) hash.add(line);
  for (const hunk of file.hunks) {
    hash.add(hunk.header);
    for (const line of hunk.lines) hash.add(line.kind + (line.unended ? '\\' : ' ') + line.text);
  }
  return hash.text();
}

/** cyrb53, a fast hash of 53 bits. */
class Hash {
  #one: number;
  #two: number;

  constructor(seed: number) {
    this.#one = 0xdeadbeef ^ seed;
    this.#two = 0x41c6ce57 ^ seed;
  }

  add(text: string) {
    for (let i = 0; i <= text.length; i++) {
      const unit = i < text.length ? text.charCodeAt(i) : 0x1_0000;
      this.#one = Math.imul(this.#one ^ unit, 2654435761);
      this.#two = Math.imul(this.#two ^ unit, 1597334677);
    }
  }

  text(): string {
    const mix = (a: number, b: number) => Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    const [one, two] = [mix(this.#one, this.#two), mix(this.#two, this.#one)];
    return (4294967296 * (2097151 & two) + (one >>> 0)).toString(36);
  }
}
