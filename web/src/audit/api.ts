import { useInfiniteQuery } from '@tanstack/react-query';
import type { AuditAction, AuditActor, AuditEntry, AuditList } from '@bellhop/client';
import { config } from '../app/config.ts';
import { api } from '../app/http.ts';

/** What a user typed or chose; an empty member selects everything. Days are those of the browser. */
export interface Filter {
  from: string;
  until: string;
  actor: string;
  action: string;
  subject: string;
}

export const everything: Filter = { from: '', until: '', actor: '', action: '', subject: '' };

/** The query of a filter. The last day is included, so the log is read up to the next one. */
export function queryOf(filter: Filter): URLSearchParams {
  const query = new URLSearchParams();
  if (filter.from) query.set('from', startOf(filter.from, 0));
  if (filter.until) query.set('until', startOf(filter.until, 1));
  for (const name of ['actor', 'action', 'subject'] as const)
    if (filter[name].trim()) query.set(name, filter[name].trim());
  return query;
}

/** The beginning of a day like 2026-03-04 in the browser's time zone, some days later. */
function startOf(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

export const exportURL = (filter: Filter) => `${config.base.replace(/\/$/, '')}/api/audit/export?${queryOf(filter)}`;

export function useAudit(filter: Filter, enabled: boolean) {
  return useInfiniteQuery({
    queryKey: ['audit', filter],
    enabled,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => {
      const query = queryOf(filter);
      query.set('limit', '50');
      if (pageParam) query.set('cursor', pageParam);
      return api<AuditList>('GET', `/api/audit?${query}`, undefined, signal);
    },
    getNextPageParam: (last) => last.nextCursor || undefined,
  });
}

/** A record, so that the compiler names an act that is missing here. */
export const acts: Record<AuditAction, string> = {
  'sign-in': 'Signed in',
  'sign-in.failed': 'Sign-in failed',
  'sign-in.link': 'Sign-in link made',
  'sign-in.ended': 'Sign-in ended',
  'sign-in.password': 'Password right, code asked for',
  'sign-out': 'Signed out',
  'token.created': 'Token created',
  'token.revoked': 'Token revoked',
  'user.created': 'User created',
  'user.password': 'Password changed',
  'user.disabled': 'User disabled',
  'user.enabled': 'User enabled',
  'user.deleted': 'User deleted',
  'user.erased': 'User erased',
  'second-factor.enabled': 'Second factor turned on',
  'second-factor.disabled': 'Second factor turned off',
  'second-factor.reset': 'Second factor reset',
  'second-factor.codes': 'Recovery codes replaced',
  'host.created': 'Host added',
  'host.changed': 'Host changed',
  'host.removed': 'Host removed',
  'host.reconciled': 'Host reconciled',
  'host.installed': 'Agent installed on a host',
  'host.cancelled': 'Installation cancelled',
  'task.adopted': 'Task adopted',
  'task.answered': 'Question answered',
  'task.mode': 'Permission mode chosen',
  'task.committed': 'Changes committed',
  'task.discarded': 'Changes discarded',
  'task.fetched': 'Commits fetched from the remote',
  'task.pushed': 'Branch pushed',
  'task.requested': 'Pull request opened or updated',
  'task.expired': 'Archived task deleted by its age',
  'forge-token.added': 'Token for a forge added',
  'forge-token.removed': 'Token for a forge removed',
  'share.created': 'Share link made',
  'share.revoked': 'Share link revoked',
  'task.terminal-opened': 'Terminal opened',
  'task.terminal-closed': 'Terminal left',
  'webhook.rotated': 'Webhook secret replaced',
  'notifications.on': 'Browser notified',
  'notifications.off': 'Browser notified no more',
  'keys.rotated': 'Secrets sealed with a new key',
  'audit.exported': 'Audit log exported',
  'data.exported': 'Tasks exported',
  'data.imported': 'Tasks imported',
};

/** An act of a newer broker is shown by its name. */
export const actName = (action: AuditAction) => acts[action] ?? action;

export function actorName(actor: AuditActor): string {
  switch (actor.kind) {
    case 'user':
      return actor.email || `removed user ${actor.id ?? ''}`;
    case 'operator':
      return 'Operator (command line)';
    case 'host':
      return 'A person at the host';
    case 'visitor':
      return 'Not signed in';
    case 'broker':
      return 'The broker';
  }
}

/** The subject's name, otherwise its kind and id. */
export function subjectName({ subject }: AuditEntry): string {
  if (subject.kind === 'audit') return '';
  return subject.name || [subject.kind, subject.id].filter(Boolean).join(' ');
}
