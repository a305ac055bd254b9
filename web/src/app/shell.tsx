import { Outlet, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import { KeysHelp } from '../settings/keys.tsx';
import { NewTaskDialog } from '../tasks/dialog.tsx';
import { useAttention } from '../inbox/attention.ts';
import { useMedia } from '../ui/media.ts';
import { useUserFeed } from './feed/use.ts';
import { useShortcuts } from './shortcuts.ts';
import { Sidebar } from './sidebar.tsx';
import styles from './shell.module.css';

export function Shell() {
  const [open, setOpen] = useState<'new' | 'keys' | null>(null);
  const atHome = useRouterState({
    select: (s) => s.location.pathname.replace(/\/$/, '') === '' || s.matches.at(-1)?.routeId === '/',
  });
  useUserFeed();
  useAttention();
  useShortcuts({ onNew: () => setOpen('new'), onHelp: () => setOpen('keys') });
  // A phone shows either the list, which is its home page, or one page at full size.
  const narrow = useMedia('(max-width: 720px)');
  return (
    <div className={styles.shell}>
      {(!narrow || atHome) && <Sidebar asMain={narrow} onNew={() => setOpen('new')} onHelp={() => setOpen('keys')} />}
      {(!narrow || !atHome) && (
        <div className={styles.outlet}>
          <Outlet />
        </div>
      )}
      {open === 'new' && <NewTaskDialog onClose={() => setOpen(null)} />}
      {open === 'keys' && <KeysHelp onClose={() => setOpen(null)} />}
    </div>
  );
}
