import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { useAnnouncements, useHostNotices } from './api.ts';
import styles from './banner.module.css';
import { useStopping } from './stopping.ts';

const words = { info: 'Notice', success: 'Good news', warning: 'Warning', error: 'Urgent' } as const;

/**
 * What administrators announce to all users, and what hosts and the broker say about themselves, above every page. The
 * region is always there, so that screen readers read additions.
 */
export function Announcements() {
  const announced = useAnnouncements();
  const ofHosts = useHostNotices();
  const stopping = useStopping();
  return (
    <section className={styles.banner} aria-label="Announcements" aria-live="polite">
      {stopping && (
        <One
          level="warning"
          text="The server stops or restarts. Agents go on, and this page connects again by itself."
        />
      )}
      {announced.shown.map((a) => (
        <One
          key={a.announcementId}
          level={a.level}
          text={a.text}
          onDismiss={() => announced.dismiss(a.announcementId)}
        />
      ))}
      {ofHosts.shown.map((n) => (
        <One key={n.key} level={n.level} text={n.text} onDismiss={() => ofHosts.dismiss(n.key)} />
      ))}
    </section>
  );
}

interface OneProps {
  level: keyof typeof words;
  text: string;
  onDismiss?: () => void;
}

function One({ level, text, onDismiss }: OneProps) {
  return (
    <div className={styles.one} data-level={level}>
      <p>
        <strong>{words[level]}:</strong> {text}
      </p>
      {onDismiss && (
        <IconButton
          label={`Dismiss: ${text}`}
          icon={<Icon name="close" />}
          className={styles.dismiss}
          onClick={onDismiss}
        />
      )}
    </div>
  );
}
