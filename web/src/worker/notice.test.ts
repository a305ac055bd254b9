import { describe, expect, it } from 'vitest';
import { optionsOf, pathOf, readNotice, tagOf } from './notice.ts';

const question = {
  id: 'evt_1',
  event: 'question',
  taskId: 't1',
  interactionId: 'q1',
  title: 'Tidy up',
  text: 'Run make?',
  answerable: true,
};

describe('readNotice', () => {
  it('reads a question', () => {
    expect(readNotice(JSON.stringify(question))).toEqual({ ...question, sourceId: '' });
  });
  it.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['null', 'null'],
    ['a list', '[1]'],
    ['other types', '{"id":1,"event":["question"],"taskId":{},"title":5,"text":null,"answerable":"yes"}'],
  ])('makes a harmless notice of %s', (_, raw) => {
    const notice = readNotice(raw);
    expect(notice).toMatchObject({
      title: 'Bellhop',
      text: 'Something has changed',
      answerable: false,
      interactionId: '',
    });
    expect(pathOf(notice)).toBe('');
  });
  it.each(['../../evil', 'https://evil.example', 'a b', 'x'.repeat(201), '//evil', 'a/b', '?x', '#x'])(
    'drops the id %s',
    (taskId) => expect(readNotice(JSON.stringify({ ...question, taskId })).taskId).toBe(''),
  );
  it('offers no answer for a question without ids, or for another event', () => {
    expect(readNotice(JSON.stringify({ ...question, interactionId: '../x' })).answerable).toBe(false);
    expect(readNotice(JSON.stringify({ ...question, taskId: '' })).answerable).toBe(false);
    expect(readNotice(JSON.stringify({ ...question, event: 'finished' })).answerable).toBe(false);
  });
  it('cuts texts that are too long', () => {
    expect(readNotice(JSON.stringify({ ...question, text: 'x'.repeat(5000) })).text).toHaveLength(1000);
  });
});

describe('optionsOf', () => {
  it('offers Allow and Deny only for what can be answered', () => {
    const notice = readNotice(JSON.stringify(question));
    expect(optionsOf(notice, '/', false).actions?.map((a) => a.action)).toEqual(['allow', 'deny']);
    expect(optionsOf({ ...notice, answerable: false }, '/', false).actions).toBeUndefined();
  });
  it('rings again for a later question of a task, and not for a message that is repeated', () => {
    const notice = readNotice(JSON.stringify(question));
    expect(optionsOf(notice, '/', false)).toMatchObject({ tag: tagOf(notice), renotify: true, silent: false });
    expect(optionsOf(notice, '/', true)).toMatchObject({ tag: tagOf(notice), renotify: false, silent: true });
  });
});

it('a tap opens the task, or the source of a question', () => {
  expect(pathOf(readNotice(JSON.stringify(question)))).toBe('tasks/t1');
  expect(pathOf(readNotice('{"event":"followup","sourceId":"s1"}'))).toBe('sources/s1');
});
