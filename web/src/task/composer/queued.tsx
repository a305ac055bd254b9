import { useState } from 'react';
import { Button, IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { usePaused, useQueue, type MessageQueue } from './queue.ts';
import styles from './composer.module.css';

/** The messages that wait for the agent; they can still be edited or removed. */
export function QueuedMessages({ queue }: { queue: MessageQueue }) {
  const list = useQueue(queue);
  const paused = usePaused(queue);
  const [editing, setEditing] = useState('');
  if (list.length === 0) return null;
  return (
    <>
      {paused && (
        <p className={styles.paused} role="status">
          The queue is paused, because the agent was stopped.
          <Button small onClick={() => queue.resume()}>
            Send them
          </Button>
        </p>
      )}
      <ul className={styles.queue} aria-label="Queued messages">
        {list.map((m, i) => (
          <li key={m.id}>
            <small>{i === 0 ? 'Next' : `${i + 1}.`}</small>
            {editing === m.id ? (
              <input
                aria-label="Queued message"
                defaultValue={m.text}
                autoFocus
                dir="auto"
                onBlur={(e) => {
                  queue.edit(m.id, e.target.value);
                  setEditing('');
                }}
                onKeyDown={(e) => {
                  if (e.nativeEvent.isComposing) return;
                  if (e.key === 'Enter') e.currentTarget.blur();
                  if (e.key === 'Escape') {
                    e.stopPropagation();
                    e.currentTarget.value = m.text;
                    e.currentTarget.blur();
                  }
                }}
              />
            ) : (
              <span dir="auto">
                {m.text}
                {m.files.length > 0 && ` (${m.files.length} images)`}
              </span>
            )}
            <IconButton
              label="Edit queued message"
              icon={<Icon name="edit" size={14} />}
              onClick={() => setEditing(m.id)}
            />
            <IconButton
              label="Remove queued message"
              icon={<Icon name="close" size={14} />}
              onClick={() => queue.remove(m.id)}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
