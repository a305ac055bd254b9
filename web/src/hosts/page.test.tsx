import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
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

afterEach(cleanup);

test('a change of how browsers reach a host shows why it failed', () => {
  render(<HostsPage />);
  expect(screen.getByRole('row', { name: /build-01/ }).textContent).toContain('The broker is away');
});
