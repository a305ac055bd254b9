import { BellhopError } from '@bellhop/client';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Gate } from './gate.tsx';
import { useSignOut } from './session.ts';

const { api, closeNotifications } = vi.hoisted(() => ({ api: vi.fn(), closeNotifications: vi.fn() }));
vi.mock('../app/http.ts', async (original) => ({ ...(await original<object>()), api }));
vi.mock('../app/worker.ts', () => ({ forgetSeen: () => Promise.resolve() }));
vi.mock('../inbox/push.ts', () => ({ closeNotifications }));

const assign = vi.fn();
beforeEach(() => vi.stubGlobal('location', { ...location, assign }));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.resetAllMocks();
});

function SignOut() {
  const { mutate } = useSignOut();
  return (
    <button type="button" onClick={() => mutate()}>
      Sign out
    </button>
  );
}

/** The console of a signed-in user, who has just asked to sign out. */
async function signOut() {
  const logout = { resolve: vi.fn<() => void>(), reject: vi.fn<(error: Error) => void>() };
  const ended = new Promise<void>((resolve, reject) => Object.assign(logout, { resolve, reject }));
  api.mockImplementation((_, path: string) =>
    path === '/api/auth/me' ? Promise.resolve({ user: { email: 'ada@example.com' } }) : ended,
  );
  const client = new QueryClient();
  render(
    <QueryClientProvider client={client}>
      <Gate link={null}>
        <SignOut />
      </Gate>
    </QueryClientProvider>,
  );
  fireEvent.click(await screen.findByRole('button', { name: 'Sign out' }));
  await vi.waitFor(() => expect(api).toHaveBeenCalledWith('POST', '/api/auth/logout'));
  return { logout, otherRequestFindsTheSessionEnded: () => act(() => client.setQueryData(['me'], null)) };
}

it('offers no form to sign in on a page that is about to be left', async () => {
  const { logout, otherRequestFindsTheSessionEnded } = await signOut();
  otherRequestFindsTheSessionEnded();
  expect((await screen.findByRole('status')).textContent).toBe('Signing out …');
  expect(screen.queryByLabelText('E-mail')).toBeNull();
  await act(async () => logout.resolve());
  await vi.waitFor(() => expect(assign).toHaveBeenCalledWith('/'));
  expect(screen.queryByLabelText('E-mail')).toBeNull();
});

it('leaves the page also when notifications cannot be closed', async () => {
  closeNotifications.mockRejectedValue(new Error('no service worker'));
  const { logout } = await signOut();
  await act(async () => logout.resolve());
  await vi.waitFor(() => expect(assign).toHaveBeenCalledOnce());
});

it('keeps the console when the broker could not end the session', async () => {
  const { logout } = await signOut();
  await act(async () => logout.reject(new BellhopError(503, 'https://broker.example', { error: 'busy' })));
  expect(screen.getByRole('button', { name: 'Sign out' })).toBeTruthy();
  expect(assign).not.toHaveBeenCalled();
});
