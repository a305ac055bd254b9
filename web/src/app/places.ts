import type { IconName } from '../ui/icon.tsx';

export interface Place {
  to:
    | '/inbox'
    | '/notebooks'
    | '/deliveries'
    | '/hosts'
    | '/doctor'
    | '/audit'
    | '/users'
    | '/workspaces'
    | '/tokens'
    | '/settings';
  label: string;
  icon: IconName;
  /** Only administrators see it. */
  admin?: boolean;
  /** At the foot of the sidebar, as an icon. */
  foot?: boolean;
}

/** The pages besides the tasks, in the order of the sidebar. */
export const places: readonly Place[] = [
  { to: '/inbox', label: 'Inbox', icon: 'inbox' },
  { to: '/notebooks', label: 'Notebooks', icon: 'book' },
  { to: '/deliveries', label: 'Deliveries', icon: 'truck' },
  { to: '/hosts', label: 'Agent hosts', icon: 'host', admin: true },
  { to: '/doctor', label: 'Doctor', icon: 'pulse', admin: true },
  { to: '/users', label: 'Users', icon: 'user', admin: true },
  { to: '/audit', label: 'Audit log', icon: 'list', admin: true },
  { to: '/workspaces', label: 'Workspaces', icon: 'branch', foot: true },
  { to: '/tokens', label: 'API tokens', icon: 'key', foot: true },
  { to: '/settings', label: 'Settings', icon: 'gear', foot: true },
];
