import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import type { OfferedSandbox } from '@bellhop/client';
import { HostsPage } from './page.tsx';

vi.mock('@tanstack/react-router', () => ({ Link: () => null }));
vi.mock('../auth/session.ts', () => ({ useMe: () => ({ data: { admin: true } }) }));
vi.mock('../inbox/attention.ts', () => ({ useTitle: () => undefined }));
vi.mock('./api.ts', () => {
  const host = { id: 'h', name: 'build-01', url: 'http://b', health: 'ok', openTurns: 0, reach: 'direct' };
  return {
    useHosts: () => ({ data: [host], isPending: false, error: null }),
    useRemoveHost: () => ({ error: null }),
    useUpdateHost: () => ({ error: new Error('The broker is away'), isPending: false }),
  };
});

const full: OfferedSandbox = {
  state: 'full',
  landlock: 6,
  namespaces: true,
  network: 'proxy',
  ownUser: true,
  limits: ['memory', 'pids'],
  open: [],
};
let sandbox: OfferedSandbox | undefined;
let version: string | undefined;
vi.mock('../tasks/api.ts', () => ({
  useOffers: () => ({ data: { agents: [], hosts: [{ hostId: 'h', offer: { sandbox, version } }] } }),
}));

afterEach(() => {
  sandbox = undefined;
  version = undefined;
  cleanup();
});

const row = () => screen.getByRole('row', { name: /build-01/ }).textContent;

test('a host shows what its agents are kept from', () => {
  sandbox = full;
  render(<HostsPage />);
  expect(row()).toContain('Complete');
  expect(row()).toContain('Landlock 6, namespaces, network proxy, users of their own, limits of memory, pids');
});

test('a sandbox with gaps names them, and one of no effect has no parts', () => {
  sandbox = { ...full, state: 'partial', open: ['send to other machines'] };
  render(<HostsPage />);
  expect(row()).toContain('Agents can send to other machines.');
  cleanup();
  sandbox = { ...full, state: 'none' };
  render(<HostsPage />);
  expect(row()).toContain('None');
  expect(row()).not.toContain('Landlock');
});

test('a host shows its version, and the one of the broker only if that differs', () => {
  render(<HostsPage />);
  expect(row()).not.toContain('Version');
  cleanup();
  version = 'dev';
  render(<HostsPage />);
  expect(row()).toContain('Version dev');
  expect(row()).not.toContain('the broker has');
  cleanup();
  version = 'v1.2.3';
  render(<HostsPage />);
  expect(row()).toContain('Version v1.2.3 (the broker has dev)');
});

test('a host that does not say is not called safe', () => {
  render(<HostsPage />);
  expect(row()).toContain('not known');
});

test('a change of how browsers reach a host shows why it failed', () => {
  render(<HostsPage />);
  expect(screen.getByRole('row', { name: /build-01/ }).textContent).toContain('The broker is away');
});
