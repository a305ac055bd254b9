import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { config } from './config.ts';
import { Broken, NotFound } from './broken.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Broken });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('../tasks/home.tsx'), 'Home'),
});

/** The pane beside a conversation: the changes, a terminal, or the files with the one that is shown. */
interface TaskSearch {
  diff?: boolean;
  terminal?: boolean;
  files?: boolean;
  file?: string;
  line?: number;
}

const task = createRoute({
  getParentRoute: () => root,
  path: '/tasks/$taskId',
  validateSearch: (search: Record<string, unknown>): TaskSearch => {
    if (search.diff) return { diff: true };
    if (search.terminal) return { terminal: true };
    if (!search.files) return {};
    const file =
      typeof search.file === 'string' || typeof search.file === 'number' ? { file: String(search.file) } : {};
    return { files: true, ...file, ...(typeof search.line === 'number' && { line: search.line }) };
  },
  component: lazyRouteComponent(() => import('../task/page.tsx'), 'TaskPage'),
});

const firstSteps = createRoute({
  getParentRoute: () => root,
  path: '/first-steps',
  component: lazyRouteComponent(() => import('../firststeps/page.tsx'), 'FirstStepsPage'),
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  component: lazyRouteComponent(() => import('../inbox/page.tsx'), 'InboxPage'),
});
const notebooks = createRoute({
  getParentRoute: () => root,
  path: '/notebooks',
  component: lazyRouteComponent(() => import('../notebooks/page.tsx'), 'NotebooksPage'),
});
const notebook = createRoute({
  getParentRoute: () => root,
  path: '/notebooks/$notebookId',
  component: lazyRouteComponent(() => import('../notebooks/notebook.tsx'), 'NotebookPage'),
});
const source = createRoute({
  getParentRoute: () => root,
  path: '/sources/$sourceId',
  component: lazyRouteComponent(() => import('../notebooks/source.tsx'), 'SourcePage'),
});
const deliveries = createRoute({
  getParentRoute: () => root,
  path: '/deliveries',
  component: lazyRouteComponent(() => import('../deliveries/page.tsx'), 'DeliveriesPage'),
});
const hosts = createRoute({
  getParentRoute: () => root,
  path: '/hosts',
  component: lazyRouteComponent(() => import('../hosts/page.tsx'), 'HostsPage'),
});
const doctor = createRoute({
  getParentRoute: () => root,
  path: '/doctor',
  component: lazyRouteComponent(() => import('../doctor/page.tsx'), 'DoctorPage'),
});
const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: lazyRouteComponent(() => import('../audit/page.tsx'), 'AuditPage'),
});
const users = createRoute({
  getParentRoute: () => root,
  path: '/users',
  component: lazyRouteComponent(() => import('../users/page.tsx'), 'UsersPage'),
});
const workspaces = createRoute({
  getParentRoute: () => root,
  path: '/workspaces',
  component: lazyRouteComponent(() => import('../workspaces/page.tsx'), 'WorkspacesPage'),
});
const tokens = createRoute({
  getParentRoute: () => root,
  path: '/tokens',
  component: lazyRouteComponent(() => import('../tokens/page.tsx'), 'TokensPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('../settings/page.tsx'), 'SettingsPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    task,
    firstSteps,
    inbox,
    notebooks,
    notebook,
    source,
    deliveries,
    hosts,
    doctor,
    audit,
    users,
    workspaces,
    tokens,
    settings,
  ]),
  basepath: config.base,
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
