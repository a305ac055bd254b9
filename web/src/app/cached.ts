import type { QueryClient, QueryKey } from '@tanstack/react-query';

/**
 * Changes what every query below a key has cached. Unlike `setQueryData` it leaves the queries as stale as they are: an
 * invalidated query, or one whose request is cancelled because its page is left, is read again when it is next shown.
 */
export function changeCached<T>(client: QueryClient, queryKey: QueryKey, change: (data: T) => T) {
  for (const query of client.getQueryCache().findAll({ queryKey })) {
    const data = query.state.data as T | undefined;
    if (data === undefined) continue;
    const changed = change(data);
    if (changed !== data) query.setState({ data: changed });
  }
}
