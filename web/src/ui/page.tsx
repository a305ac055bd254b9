import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';
import styles from './page.module.css';

/** A page beside the sidebar: a title row and a column of content. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <main className={styles.page}>
      <div className={styles.column}>
        <header className={styles.head}>
          <Link to="/" className={styles.back} aria-label="Back to tasks">
            <Icon name="back" />
          </Link>
          <h1>{title}</h1>
          <div className={styles.actions}>{actions}</div>
        </header>
        {lead && <p className={styles.lead}>{lead}</p>}
        {children}
      </div>
    </main>
  );
}

/** An empty page: states that there is nothing yet, and how to begin. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      <div>{children}</div>
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p className={styles.loading} role="status">
      Loading {what} …
    </p>
  );
}
