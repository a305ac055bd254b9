import type { UseQueryResult } from '@tanstack/react-query';
import { Failure } from './failure.tsx';
import { Loading } from './page.tsx';

/** Shows that a query is loading, or why it failed with a button to try again; nothing once it has data. */
export function QueryStatus({
  query,
  loading,
  failed,
}: {
  query: Pick<UseQueryResult, 'isPending' | 'error' | 'refetch'>;
  loading: string;
  failed: string;
}) {
  return (
    <>
      {query.isPending && <Loading what={loading} />}
      {query.error && <Failure what={failed} error={query.error} retry={() => void query.refetch()} />}
    </>
  );
}
