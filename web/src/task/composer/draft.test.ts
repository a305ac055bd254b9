import { afterEach, describe, expect, it, vi } from 'vitest';
import { readDraft, saveDraft, saveFirstMessage, takeFirstMessage } from './draft.ts';

afterEach(() => localStorage.clear());

describe('drafts', () => {
  it('are kept per task', () => {
    saveDraft('a', 'one');
    saveDraft('b', 'two');
    expect([readDraft('a'), readDraft('b'), readDraft('c')]).toEqual(['one', 'two', '']);
  });
  it('leave nothing behind when they are empty', () => {
    saveDraft('a', 'one');
    saveDraft('a', '');
    expect(localStorage.length).toBe(0);
  });
  it('survive a full storage as long as the page lives', () => {
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new DOMException('full', 'QuotaExceededError');
    });
    saveDraft('full', 'kept');
    expect(readDraft('full')).toBe('kept');
  });
});

describe('the first message of a task', () => {
  it('is taken once', () => {
    saveFirstMessage('t', 'go');
    expect([takeFirstMessage('t'), takeFirstMessage('t')]).toEqual(['go', null]);
  });
});
