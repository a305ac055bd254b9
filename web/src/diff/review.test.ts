import { beforeEach, describe, expect, it } from 'vitest';
import { parsePatch } from './parse.ts';
import {
  changeReview,
  closeForm,
  editComment,
  hashFile,
  keepDraft,
  markViewed,
  openComment,
  parseReview,
  readReview,
  saveComment,
  takeFocus,
} from './review.ts';

const place = { path: 'a.ts', side: 'after', line: 3, code: 'let x' } as const;
const patchOf = (text: string, head = '') =>
  parsePatch(`diff --git a/a.ts b/a.ts\n${head}--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-old\n+${text}\n`)[0]!;

let task = '';
let n = 0;
beforeEach(() => {
  task = `task-${n++}`;
});

describe('the comments of a review', () => {
  it('are opened, added, edited and removed', () => {
    openComment(task, place);
    const [open] = readReview(task).comments;
    expect(open).toEqual({ ...place, id: open?.id, text: '', draft: '' });
    expect(takeFocus(open!.id)).toBe(true);
    expect(takeFocus(open!.id), 'a second time').toBe(false);
    keepDraft(task, open!.id, 'why');
    saveComment(task, open!.id, 'why?');
    expect(readReview(task).comments[0]).toMatchObject({ text: 'why?', draft: undefined });
    editComment(task, readReview(task).comments[0]!);
    expect(readReview(task).comments[0]).toMatchObject({ text: 'why?', draft: 'why?' });
    closeForm(task, readReview(task).comments[0]!);
    expect(readReview(task).comments, 'an edit that was cancelled').toHaveLength(1);
    openComment(task, { ...place, line: 4 });
    closeForm(task, readReview(task).comments[1]!);
    expect(readReview(task).comments, 'a new one that was cancelled').toHaveLength(1);
  });
  it('open one form per line', () => {
    openComment(task, place);
    openComment(task, place);
    expect(readReview(task).comments).toHaveLength(1);
  });
  it('survive a reload, half-written ones too', () => {
    openComment(task, place);
    keepDraft(task, readReview(task).comments[0]!.id, 'half a sen');
    const stored = localStorage.getItem(`bellhop.review.${task}`);
    expect(parseReview(stored)).toEqual(readReview(task));
    expect(parseReview(stored).comments[0]?.draft).toBe('half a sen');
  });
  it('of another tab are kept when this one adds its own', () => {
    openComment(task, place);
    const other = parseReview(localStorage.getItem(`bellhop.review.${task}`));
    const written = { ...other, comments: [...other.comments, { ...place, id: 'theirs', text: 'from the other tab' }] };
    localStorage.setItem(`bellhop.review.${task}`, JSON.stringify(written));
    openComment(task, { ...place, line: 9 });
    expect(readReview(task).comments.map((c) => c.line)).toEqual([3, 3, 9]);
  });
  it('keep their identity while nothing changes', () => {
    openComment(task, place);
    expect(readReview(task)).toBe(readReview(task));
  });
  it.each([null, '', '{', '[]', 'null', '{"comments":3,"viewed":{}}', '{"comments":[null,{"id":1},"x"],"viewed":[1]}'])(
    'are none in the stored text %j',
    (raw) => expect(parseReview(raw)).toMatchObject({ comments: [], viewed: [] }),
  );
});

describe('the mark of a viewed file', () => {
  const isViewed = (text: string, head?: string) => {
    const { viewed, seed } = readReview(task);
    return viewed.includes(hashFile(patchOf(text, head), seed));
  };
  it('is for the content that was seen, and comes back with it', () => {
    markViewed(task, patchOf('new'), true);
    expect(isViewed('new')).toBe(true);
    expect(isViewed('newer')).toBe(false);
    expect(isViewed('new', 'old mode 100644\nnew mode 100755\n'), 'another mode').toBe(false);
    markViewed(task, patchOf('new'), false);
    expect(isViewed('new')).toBe(false);
  });
  it('differs between tasks, so that an agent cannot aim at it', () => {
    const hashes = [1, 2].map((seed) => hashFile(patchOf('new'), seed));
    expect(hashes[0]).not.toBe(hashes[1]);
    changeReview(task, (r) => r);
    expect(readReview(task).seed).not.toBe(parseReview(null).seed);
  });
  it('forgets the oldest of very many', () => {
    changeReview(task, (r) => ({ ...r, viewed: Array.from({ length: 4_000 }, (_, i) => `h${i}`) }));
    markViewed(task, patchOf('new'), true);
    expect(readReview(task).viewed).toHaveLength(4_000);
    expect(isViewed('new')).toBe(true);
  });
});
