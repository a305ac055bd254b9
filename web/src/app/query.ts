import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isAway, isRefused, isUnauthorized } from './http.ts';

const awayAgainMs = 5_000;

/** After the session has ended the sign-in page covers the console; signing in returns to the same page. */
function signedOut(error: unknown) {
  if (isUnauthorized(error)) queryClient.setQueryData(['me'], null);
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: signedOut }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) =>
      mutation.options.mutationKey?.[0] !== 'sign-in' && signedOut(error),
  }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: (count, error) => count < 2 && !isRefused(error),
      // Without the network, the service worker answers with the last answers of the broker.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What the broker has not answered is read again until it does, so that the page recovers by itself.
      refetchInterval: ({ state }) => state.status === 'error' && isAway(state.error) && awayAgainMs,
    },
    // Without the network, an act fails at once. One that waits for it would surprise the user later.
    mutations: { networkMode: 'always' },
  },
});
