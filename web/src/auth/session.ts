import { useMutation, useMutationState, useQuery, useQueryClient } from '@tanstack/react-query';
import { config } from '../app/config.ts';
import { api, isUnauthorized } from '../app/http.ts';
import { forgetSeen } from '../app/worker.ts';
import type { User } from '../app/types.ts';

export type Credentials = { email: string; password: string; code?: string } | { link: string };

/** The signed-in user; null when there is none. */
export function useMe() {
  return useQuery<User | null>({
    queryKey: ['me'],
    queryFn: async ({ signal }) => {
      if (config.signedIn === false) return null;
      try {
        return (await api<{ user: User }>('GET', '/api/auth/me', undefined, signal)).user;
      } catch (error) {
        if (isUnauthorized(error)) return null;
        throw error;
      }
    },
    staleTime: 5 * 60_000,
  });
}

/** False until the user is known. */
export const useIsAdmin = () => useMe().data?.admin ?? false;

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationKey: ['sign-in'],
    mutationFn: (credentials: Credentials) => api<{ user: User }>('POST', '/api/auth/login', credentials),
    onSuccess: ({ user }) => {
      client.setQueryData(['me'], user);
      // The page's content policy names the agent hosts of the user who loaded it. Another user needs another page.
      location.reload();
    },
  });
}

const signingOut = ['sign-out'];

export function useSignOut() {
  return useMutation({
    mutationKey: signingOut,
    mutationFn: async () => {
      await forgetSeen();
      await api('POST', '/api/auth/logout');
    },
    onSuccess: async () => {
      try {
        await forgetSeen();
        const { closeNotifications } = await import('../inbox/push.ts');
        await closeNotifications(() => true);
      } finally {
        // The next user to sign in must find no data of this one in memory.
        location.assign(config.base);
      }
    },
  });
}

/**
 * Whether the user is leaving: the broker was asked to end the session, and the page is about to be loaded again. Other
 * requests can find the session ended before that.
 */
export const useIsSigningOut = () =>
  useMutationState({
    filters: { mutationKey: signingOut, predicate: ({ state }) => state.status !== 'error' },
    select: ({ state }) => state.status,
  }).length > 0;
