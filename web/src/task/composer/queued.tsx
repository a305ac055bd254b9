import { useState } from 'react';
import type { QueuedMessage } from '../../app/types.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { isComposing } from '../../ui/composing.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Adding, MessageQueue } from './queue.ts';
import styles from './composer.module.css';

/** The messages that wait for the agent. Every tab and device shows and changes the same ones. */
export function QueuedMessages({ queue }: { queue: MessageQueue }) {
  const { messages, adding, paused } = queue;
  if (messages.length + adding.length === 0) return null;
  const first = messages.findIndex((m) => m.state === 'waiting');
  return (
    <>
      {paused && (
        <p className={styles.paused} role="status">
          <span>The queue is paused, {whyPaused(paused, queue.reason)}</span>
          <Button small onClick={queue.resume}>
            Resume
          </Button>
        </p>
      )}
      <ul className={styles.queue} aria-label="Queued messages">
        {messages.map((m, i) => (
          <Queued key={m.id} message={m} place={i} position={i - first} queue={queue} />
        ))}
        {adding.map((m) => (
          <Unqueued key={m.id} message={m} queue={queue} />
        ))}
      </ul>
    </>
  );
}

function whyPaused(paused: NonNullable<MessageQueue['paused']>, reason: string): string {
  if (paused === 'stopped') return 'because the agent was stopped.';
  if (paused === 'failed') return `because a turn failed${reason ? `: ${reason}` : '.'}`;
  if (paused === 'user-disabled') return 'because the account was disabled. It goes on by itself.';
  return `because the outcome of a message is unknown. ${reason}`;
}

interface QueuedProps {
  message: QueuedMessage;
  /** Its index in the queue. */
  place: number;
  /** Its index among the messages that can be moved. */
  position: number;
  queue: MessageQueue;
}

function Queued({ message, place, position, queue }: QueuedProps) {
  const [editing, setEditing] = useState(false);
  const { id, failure, attachments = [] } = message;
  const waiting = message.state === 'waiting';
  const files = attachments.length > 0 ? ` (${attachments.map((a) => a.name || a.mediaType).join(', ')})` : '';
  return (
    <li>
      <small>{waiting ? (place === 0 ? 'Next' : `${place + 1}.`) : 'Sending'}</small>
      {editing && waiting ? (
        <Editor
          text={message.message}
          onDone={(text) => {
            setEditing(false);
            if (text !== message.message) queue.change(id, text);
          }}
        />
      ) : (
        <span dir="auto" title={message.message}>
          {message.message}
          {files}
        </span>
      )}
      {failure && <em title={failure}>{failure}</em>}
      {waiting && (
        <>
          {position > 0 && (
            <IconButton
              label="Move queued message up"
              icon={<Icon name="up" size={14} />}
              onClick={() => queue.move(id, position - 1)}
            />
          )}
          <IconButton
            label="Send queued message now"
            icon={<Icon name="send" size={14} />}
            onClick={() => queue.sendNow(id)}
          />
          <IconButton
            label="Edit queued message"
            icon={<Icon name="edit" size={14} />}
            onClick={() => setEditing(true)}
          />
          <IconButton
            label="Remove queued message"
            icon={<Icon name="close" size={14} />}
            onClick={() => queue.remove(id)}
          />
        </>
      )}
    </li>
  );
}

function Editor({ text, onDone }: { text: string; onDone: (text: string) => void }) {
  return (
    <input
      aria-label="Queued message"
      defaultValue={text}
      autoFocus
      dir="auto"
      onBlur={(e) => onDone(e.target.value)}
      onKeyDown={(e) => {
        if (isComposing(e)) return;
        if (e.key === 'Enter') e.currentTarget.blur();
        if (e.key === 'Escape') {
          e.stopPropagation();
          e.currentTarget.value = text;
          e.currentTarget.blur();
        }
      }}
    />
  );
}

/** A message that the broker does not have yet. */
function Unqueued({ message, queue }: { message: Adding; queue: MessageQueue }) {
  return (
    <li>
      <small>{message.failed ? 'Not queued' : 'Queueing'}</small>
      <span dir="auto">{message.text}</span>
      {message.failed && (
        <>
          <em title={message.failed}>{message.failed}</em>
          <Button small onClick={() => queue.add(message)}>
            Try again
          </Button>
          <IconButton
            label="Remove queued message"
            icon={<Icon name="close" size={14} />}
            onClick={() => queue.dismiss(message.id)}
          />
        </>
      )}
    </li>
  );
}
