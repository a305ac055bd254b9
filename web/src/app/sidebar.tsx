import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useHostNotices } from '../hosts/api.ts';
import { useOpenInteractions } from '../inbox/api.ts';
import { useUnread } from '../notebooks/unread.ts';
import { TaskList } from '../tasks/list.tsx';
import { useMe, useSignOut } from '../auth/session.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Bell, Icon } from '../ui/icon.tsx';
import { places } from './places.ts';
import styles from './sidebar.module.css';

const FirstStepsLink = lazy(() => import('../firststeps/link.tsx').then((m) => ({ default: m.FirstStepsLink })));

export function Sidebar({ asMain, onNew, onHelp }: { asMain: boolean; onNew: () => void; onHelp: () => void }) {
  const Tag = asMain ? 'main' : 'div';
  const me = useMe().data;
  const waiting = useOpenInteractions().data?.length ?? 0;
  const unread = useUnread();
  return (
    <Tag className={styles.sidebar}>
      {asMain && <h1 className="visually-hidden">Tasks</h1>}
      <header className={styles.brand}>
        <Link to="/" className={styles.name}>
          <Bell className={styles.mark} />
          Bellhop
        </Link>
        <Button kind="primary" small onClick={onNew} title="New task (C)">
          <Icon name="plus" size={14} />
          New task
        </Button>
      </header>
      {asMain && (
        <Suspense>
          <FirstStepsLink />
        </Suspense>
      )}
      <nav aria-label="Pages" className={styles.nav}>
        {places
          .filter((p) => !p.foot && (!p.admin || me?.admin))
          .map((p) => (
            <Link key={p.to} to={p.to} className={styles.place} activeProps={{ 'aria-current': 'page' }}>
              <Icon name={p.icon} />
              <span>{p.label}</span>
              {p.to === '/inbox' && <Count n={waiting} what="waiting for you" />}
              {p.to === '/notebooks' && <Count n={unread} what="new in notebooks" />}
            </Link>
          ))}
      </nav>
      <TaskList onNew={onNew} />
      <Notices />
      <footer className={styles.foot}>
        <Account email={me?.email ?? ''} onHelp={onHelp} />
      </footer>
    </Tag>
  );
}

function Count({ n, what }: { n: number; what: string }) {
  if (n === 0) return null;
  return (
    <span className={styles.count} title={`${n} ${what}`}>
      {n}
      <span className="visually-hidden"> {what}</span>
    </span>
  );
}

/** The problems that administrators should fix, shown on every page. */
function Notices() {
  const notices = useHostNotices();
  if (notices.length === 0) return null;
  return (
    <div role="status" aria-label="Notices">
      <ul className={styles.notices}>
        {notices.map((text) => (
          <li key={text}>
            <Icon name="warn" size={14} />
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Account({ email, onHelp }: { email: string; onHelp: () => void }) {
  const signOut = useSignOut();
  return (
    <>
      <span className={styles.email} title={email}>
        {email}
      </span>
      {places
        .filter((p) => p.foot)
        .map((p) => (
          <Link
            key={p.to}
            to={p.to}
            className={styles.tool}
            aria-label={p.label}
            title={p.label}
            activeProps={{ 'aria-current': 'page' }}
          >
            <Icon name={p.icon} />
          </Link>
        ))}
      <IconButton label="Keyboard shortcuts" icon={<Icon name="help" />} onClick={onHelp} className={styles.keys} />
      <IconButton label="Sign out" icon={<Icon name="out" />} onClick={() => signOut.mutate()} />
    </>
  );
}
