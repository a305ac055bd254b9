import { useQuery } from '@tanstack/react-query';
import { api } from '../app/http.ts';

export type Level = 'ok' | 'warning' | 'error';

/** The result of one check. `where` is a URL or a host's name. */
export interface Finding {
  check: string;
  where?: string;
  level: Level;
  message: string;
  remedy?: string;
}

interface Report {
  /** No finding is an error. */
  ok: boolean;
  findings: Finding[];
}

/** Runs the doctor, which takes up to 15 s. A finished report is shown until it is requested again. */
export function useDoctor(enabled: boolean) {
  return useQuery({
    queryKey: ['doctor'],
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: ({ signal }) => api<Report>('GET', '/api/doctor', undefined, signal),
  });
}

/** The findings that need action, errors first. */
export function problemsOf(findings: readonly Finding[]): Finding[] {
  return [...findings.filter((f) => f.level === 'error'), ...findings.filter((f) => f.level === 'warning')];
}
