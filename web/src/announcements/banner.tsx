import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { useAnnouncements } from './api.ts';
import styles from './banner.module.css';

const words = { info: 'Notice', success: 'Good news', warning: 'Warning', error: 'Urgent' } as const;

/**
 * What administrators announce to all users, above every page. The region is always there, so that screen readers
 * read additions.
 */
export function Announcements() {
  const { shown, dismiss } = useAnnouncements();
  return (
    <section className={styles.banner} aria-label="Announcements" aria-live="polite">
      {shown.map((a) => (
        <div key={a.announcementId} className={styles.one} data-level={a.level}>
          <p>
            <strong>{words[a.level]}:</strong> {a.text}
          </p>
          <IconButton
            label={`Dismiss: ${a.text}`}
            icon={<Icon name="close" />}
            className={styles.dismiss}
            onClick={() => dismiss(a.announcementId)}
          />
        </div>
      ))}
    </section>
  );
}
