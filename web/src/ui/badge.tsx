import type { ReactNode } from 'react';
import { cx } from './class.ts';
import { Icon, type IconName } from './icon.tsx';
import styles from './badge.module.css';

export type Tone = 'busy' | 'wait' | 'good' | 'bad' | 'soft';

/** One value of a state, as users see it. */
export interface State {
  tone: Tone;
  icon?: IconName;
  label: string;
}

/** A state in words with its own icon: colour alone is not readable by everyone. */
export function Badge({ tone, icon, children }: { tone: Tone; icon?: IconName; children: ReactNode }) {
  return (
    <span className={cx(styles.badge, styles[tone])}>
      {icon ? <Icon name={icon} size={12} /> : <span className={styles.dot} aria-hidden="true" />}
      {children}
    </span>
  );
}

export function StateBadge({ state: { label, ...badge } }: { state: State }) {
  return <Badge {...badge}>{label}</Badge>;
}
