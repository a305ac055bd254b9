import type { QueryClient, QueryKey } from '@tanstack/react-query';

/**
 * Reads again what an act of the user has changed. A read that began before the act may have the state before it, and
 * is dropped: invalidateQueries alone waits for one that is the first of its key.
 */
export async function readAgain(queries: QueryClient, queryKey: QueryKey): Promise<void> {
  await queries.cancelQueries({ queryKey });
  await queries.invalidateQueries({ queryKey });
}
