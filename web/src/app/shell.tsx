import { Outlet, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import { KeysHelp } from '../settings/keys.tsx';
import { NewTaskDialog } from '../tasks/dialog.tsx';
import { useAttention } from '../inbox/attention.ts';
import { cx } from '../ui/class.ts';
import { useUserFeed } from './feed/use.ts';
import { useShortcuts } from './shortcuts.ts';
import { Sidebar } from './sidebar.tsx';
import styles from './shell.module.css';

export function Shell() {
  const [open, setOpen] = useState<'new' | 'keys' | null>(null);
  const atHome = useRouterState({ select: (s) => s.location.pathname.replace(/\/$/, '') === '' || s.matches.at(-1)?.routeId === '/' });
  useUserFeed();
  useAttention();
  useShortcuts({ onNew: () => setOpen('new'), onHelp: () => setOpen('keys') });
  return (
    <div className={cx(styles.shell, atHome && styles.home)}>
      <Sidebar onNew={() => setOpen('new')} onHelp={() => setOpen('keys')} />
      <div className={styles.outlet}>
        <Outlet />
      </div>
      {open === 'new' && <NewTaskDialog onClose={() => setOpen(null)} />}
      {open === 'keys' && <KeysHelp onClose={() => setOpen(null)} />}
    </div>
  );
}
