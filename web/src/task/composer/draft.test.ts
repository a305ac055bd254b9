import { afterEach, describe, expect, it, vi } from 'vitest';
import { readDraft, readUnsent, saveDraft, saveFirstMessage, saveUnsent, takeFirstMessage } from './draft.ts';

afterEach(() => localStorage.clear());

describe('drafts', () => {
  it('are kept per task', () => {
    saveDraft('a', 'one');
    saveDraft('b', 'two');
    expect([readDraft('a'), readDraft('b'), readDraft('c')]).toEqual(['one', 'two', '']);
  });
  it('are removed when they are empty', () => {
    saveDraft('a', 'one');
    saveDraft('a', '');
    expect(localStorage.length).toBe(0);
  });
  it('last as long as the page when the storage is full', () => {
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new DOMException('full', 'QuotaExceededError');
    });
    saveDraft('full', 'kept');
    expect(readDraft('full')).toBe('kept');
  });
});

describe('the first message of a task', () => {
  it('is returned once', () => {
    saveFirstMessage('t', 'go');
    expect([takeFirstMessage('t'), takeFirstMessage('t')]).toEqual(['go', null]);
  });
});

describe('a message that was sent', () => {
  it('is kept with its id until it is known to have arrived', () => {
    saveUnsent('t', { id: 'm', text: 'go' });
    expect(readUnsent('t')).toEqual({ id: 'm', text: 'go' });
    saveUnsent('t', null);
    expect(readUnsent('t')).toBeNull();
  });
  it('is empty when the stored value is invalid', () => {
    localStorage.setItem('bellhop.unsent.t', '{');
    expect(readUnsent('t')).toBeNull();
  });
});
