import { describe, expect, it } from 'vitest';
import type { OfferedAgent, OfferingHost, OfferList } from '../app/types.ts';
import { branchesOf, choicesOf, possible, type Picks } from './choices.ts';

const agent = (id: string, change: Partial<OfferedAgent> = {}): OfferedAgent => ({
  id,
  title: id.toUpperCase(),
  kind: id,
  installed: true,
  models: [],
  modes: [],
  ...change,
});
const project = (name: string, problem?: string) => ({
  name,
  isRepository: true,
  defaultBranch: 'main',
  branches: ['main'],
  ...(problem && { problem }),
});
const host = (hostId: string, agents: OfferedAgent[], projects = [project('shop')]): OfferingHost => ({
  hostId,
  name: `Host ${hostId}`,
  online: true,
  offer: { defaultAgent: 'demo', agents, projects, permissionModes: ['ask'] },
});
const basic: OfferingHost = {
  hostId: 'basic',
  name: 'Basic',
  online: true,
  problem: 'It does not describe its agents',
};
const list = (...hosts: OfferingHost[]): OfferList => ({ agents: [], hosts });
const picks = (change: Partial<Picks> = {}): Picks => ({
  agent: '',
  model: '',
  project: '',
  hostId: '',
  branch: '',
  workspace: '',
  mode: 'ask',
  ...change,
});
const models = [{ id: 'large', name: 'Large' }];

const two = list(
  host('a', [
    agent('claude', { version: '2.1', models }),
    agent('codex', { installed: false, hint: 'npm install it' }),
  ]),
  host('b', [agent('demo'), agent('codex', { hasKey: false })], [project('site'), project('shop', 'no permission')]),
  basic,
);

describe('choicesOf', () => {
  it('joins the agents and projects of all hosts', () => {
    const { agents, projects, hosts } = choicesOf(two, picks());
    expect(agents.map((a) => a.label)).toEqual(['CLAUDE 2.1', 'CODEX (no key)', 'DEMO']);
    expect(projects.map((p) => p.label)).toEqual(['shop (main)', 'site (main)']);
    expect(hosts.map((h) => h.label)).toEqual(['Host a', 'Host b', 'Basic']);
  });
  it('offers what the chosen host has, and says what it lacks', () => {
    const { agents, projects } = choicesOf(two, picks({ hostId: 'a' }));
    expect(agents).toEqual([
      { value: 'claude', label: 'CLAUDE 2.1' },
      { value: 'codex', label: 'CODEX (not installed)', note: 'npm install it', disabled: true },
    ]);
    expect(projects.map((p) => p.value)).toEqual(['shop']);
    expect(choicesOf(two, picks({ hostId: 'b' })).projects).toEqual([
      { value: 'site', label: 'site (main)' },
      { value: 'shop', label: 'shop (unreadable)', note: 'no permission', disabled: true },
    ]);
  });
  it('offers hosts that can run the chosen agent, and those that do not say', () => {
    expect(choicesOf(two, picks({ agent: 'claude' })).hosts).toEqual([
      { value: 'a', label: 'Host a' },
      { value: 'b', label: 'Host b (without claude)', disabled: true },
      { value: 'basic', label: 'Basic' },
    ]);
    expect(choicesOf(list({ ...basic, online: false }), picks()).hosts[0]?.label).toBe('Basic (offline)');
  });
  it('offers the models of the chosen agent', () => {
    expect(choicesOf(two, picks()).models).toEqual([]);
    expect(choicesOf(two, picks({ agent: 'claude' })).models).toEqual([{ value: 'large', label: 'Large' }]);
    expect(choicesOf(two, picks({ agent: 'claude', hostId: 'b' })).models).toEqual([]);
  });
});

describe('branchesOf', () => {
  const repository = (branches: string[], change = {}) => ({ ...project('shop'), branches, ...change });
  const [one, other] = [host('a', [], [repository(['main', 'next'])]), host('b', [], [repository(['fix', 'main'])])];
  it('joins the branches of the hosts, or takes those of the chosen one', () => {
    const both = list(one, {
      ...other,
      offer: { ...other.offer!, projects: [repository(['fix'], { defaultBranch: 'fix' })] },
    });
    expect(branchesOf(list(one, other), picks({ project: 'shop' }))).toEqual({
      names: ['main', 'next', 'fix'],
      unset: 'main',
      more: false,
    });
    expect(branchesOf(both, picks({ project: 'shop' }))?.unset).toBe('');
    expect(branchesOf(both, picks({ project: 'shop', hostId: 'b' }))).toEqual({
      names: ['fix'],
      unset: 'fix',
      more: false,
    });
  });
  it('has none where tasks start from none', () => {
    for (const change of [{ shared: true }, { isRepository: false }, { branches: [] }])
      expect(branchesOf(list(host('a', [], [repository(['main'], change)])), picks({ project: 'shop' }))).toBeNull();
    expect(branchesOf(list(one), picks())).toBeNull();
    expect(branchesOf(list(one), picks({ project: 'shop', workspace: 'a/fix' }))).toBeNull();
  });
  it('keeps a branch only where the project can have it', () => {
    const full = list(host('a', [], [repository(Array.from({ length: 200 }, (_, i) => `b${i}`))]));
    const chosen = (branch: string) => picks({ project: 'shop', branch });
    expect(possible(list(one), chosen('next')).branch).toBe('next');
    expect(possible(list(one), chosen('gone')).branch).toBe('');
    expect(possible(full, chosen('older')).branch).toBe('older');
  });
});

describe('possible', () => {
  const all = picks({ agent: 'claude', model: 'large', project: 'shop', hostId: 'a', mode: 'auto' });
  it('keeps what can be chosen', () => expect(possible(two, all)).toEqual(all));
  it('drops what is gone, and what only that had', () => {
    expect(possible(two, { ...all, hostId: 'gone' })).toEqual({ ...all, hostId: '' });
    expect(possible(two, { ...all, hostId: 'b' })).toEqual(picks({ hostId: 'b', mode: 'auto' }));
    expect(possible(list(), all)).toEqual(picks({ mode: 'auto' }));
  });
});
