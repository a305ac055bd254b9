import { describe, expect, it } from 'vitest';
import { everything, queryOf, subjectName } from './api.ts';

describe('the query of a filter', () => {
  it('is empty for everything', () => expect(queryOf(everything).toString()).toBe(''));

  it('includes the last day, over the end of a month', () => {
    const query = queryOf({ ...everything, from: '2026-02-28', until: '2026-02-28' });
    expect(query.get('from')).toBe(new Date(2026, 1, 28).toISOString());
    expect(query.get('until')).toBe(new Date(2026, 2, 1).toISOString());
  });

  it('leaves out blanks', () =>
    expect(queryOf({ ...everything, actor: ' ada@example.com ', subject: '  ' }).toString()).toBe(
      'actor=ada%40example.com',
    ));
});

it('names a subject without a name by kind and id', () => {
  const entry = { no: 1, at: '', action: 'task.mode', actor: { kind: 'broker' } } as const;
  expect(subjectName({ ...entry, subject: { kind: 'task', id: 'x' } })).toBe('task x');
  expect(subjectName({ ...entry, subject: { kind: 'host', id: 'x', name: 'build' } })).toBe('build');
  expect(subjectName({ ...entry, subject: { kind: 'audit' } })).toBe('');
});
