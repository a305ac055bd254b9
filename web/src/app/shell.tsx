import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { Announcements } from '../announcements/banner.tsx';
import { KeysHelp } from '../settings/keys.tsx';
import { NewTaskDialog } from '../tasks/dialog.tsx';
import { useAttention } from '../inbox/attention.ts';
import { useNotified } from '../inbox/notified.ts';
import { useMedia } from '../ui/media.ts';
import { useUserFeed } from './feed/use.ts';
import { OfflineBanner } from './offline.tsx';
import { useShortcuts } from './shortcuts.ts';
import { Sidebar } from './sidebar.tsx';
import styles from './shell.module.css';

const Palette = lazy(() => import('../palette/palette.tsx').then((m) => ({ default: m.Palette })));

export function Shell() {
  const [open, setOpen] = useState<'new' | 'keys' | 'palette' | null>(null);
  const atHome = useRouterState({
    select: (s) => s.location.pathname.replace(/\/$/, '') === '' || s.matches.at(-1)?.routeId === '/',
  });
  useUserFeed();
  useAttention();
  useNotified();
  useShortcuts({
    onNew: () => setOpen('new'),
    onHelp: () => setOpen('keys'),
    onPalette: () => setOpen('palette'),
  });
  // A phone shows either the list, which is its home page, or one page at full size.
  const narrow = useMedia('(max-width: 720px)');
  return (
    <div className={styles.frame}>
      <OfflineBanner />
      <Announcements />
      <div className={styles.shell}>
        {(!narrow || atHome) && <Sidebar asMain={narrow} onNew={() => setOpen('new')} onHelp={() => setOpen('keys')} />}
        {(!narrow || !atHome) && (
          <div className={styles.outlet}>
            <Outlet />
          </div>
        )}
      </div>
      {open === 'new' && <NewTaskDialog onClose={() => setOpen(null)} />}
      {open === 'keys' && <KeysHelp onClose={() => setOpen(null)} />}
      {open === 'palette' && (
        <Suspense>
          <Palette onClose={() => setOpen(null)} onNew={() => setOpen('new')} onHelp={() => setOpen('keys')} />
        </Suspense>
      )}
    </div>
  );
}
