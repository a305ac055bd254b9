import { expect, it } from 'vitest';
import type { HostWorkspaceList, Workspace } from '../app/types.ts';
import { nameOf, placeOf, possibleWorkspace, workspaceChoices } from './choices.ts';

const workspace = (name: string, change: Partial<Workspace> = {}): Workspace => ({
  name,
  project: 'shop',
  branch: `bellhop/${name}`,
  dirty: false,
  unpushed: 0,
  metadata: {},
  createdAt: '2026-01-01T00:00:00Z',
  createdBy: 't1',
  ...change,
});
const list: HostWorkspaceList = {
  hosts: [
    { hostId: 'a', name: 'A', workspaces: [workspace('fix', { dirty: true }), workspace('taken', { usedBy: 't2' })] },
    { hostId: 'b', name: 'B', workspaces: [workspace('fix', { project: 'site', branch: '' })] },
    { hostId: 'c', name: 'C', workspaces: [], problem: 'The host did not answer' },
  ],
};
const any = { hostId: '', project: '' };

it('offers the workspaces of the chosen host and project', () => {
  expect(workspaceChoices(list, any).map((c) => c.label)).toEqual(['fix (bellhop/fix)', 'taken (in use)', 'fix']);
  expect(workspaceChoices(list, { ...any, hostId: 'b' }).map((c) => c.value)).toEqual(['b/fix']);
  expect(workspaceChoices(list, { ...any, project: 'shop' }).map((c) => c.value)).toEqual(['a/fix', 'a/taken']);
  expect(workspaceChoices(list, any).map((c) => c.disabled ?? false)).toEqual([false, true, false]);
});

it('decides host and project of the task', () => {
  expect(placeOf(list, 'b/fix')).toEqual({ workspace: 'b/fix', hostId: 'b', project: 'site' });
  expect(placeOf(list, '')).toEqual({ workspace: '' });
  expect(nameOf('b/fix')).toBe('fix');
});

it('drops a workspace that is in use, gone, or of another project', () => {
  expect(possibleWorkspace(list, { ...any, workspace: 'a/fix' })).toBe('a/fix');
  expect(possibleWorkspace(list, { ...any, workspace: 'a/taken' })).toBe('');
  expect(possibleWorkspace(list, { hostId: 'a', project: 'site', workspace: 'a/fix' })).toBe('');
  expect(possibleWorkspace(undefined, { ...any, workspace: 'a/fix' })).toBe('');
});
