import { expect, it } from 'vitest';
import { entriesOf, matching } from './entries.ts';

const labels = (admin: boolean, text: string) => matching(entriesOf(admin), text).map((e) => e.label);

it('finds by the beginnings of words, in any order and case', () => {
  expect(labels(true, 'ho')).toEqual(['Agent hosts']);
  expect(labels(true, 'HOSTS ag')).toEqual(['Agent hosts']);
  expect(labels(true, 'osts')).toEqual([]);
  expect(labels(true, ' ')).toHaveLength(entriesOf(true).length);
});

it('knows no page that the user may not open', () => {
  expect(labels(false, 'audit')).toEqual([]);
  expect(labels(true, 'audit')).toEqual(['Audit log']);
  expect(labels(false, '')).toContain('New task');
});

it('has the acts of the shown page first', () => {
  const run = () => undefined;
  const acts = [{ label: 'Stop the agent', icon: 'stop' as const, run }];
  expect(entriesOf(false, acts)[0]).toEqual({ id: 'act-0', label: 'Stop the agent', icon: 'stop', run });
  expect(matching(entriesOf(false, acts), 'ag st').map((e) => e.label)).toEqual(['Stop the agent']);
});
