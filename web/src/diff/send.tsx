import { useRef, useState } from 'react';
import { newId } from '../task/id.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { toast } from '../ui/toast.tsx';
import { reviewMessage } from './message.ts';
import { changeReview, type LineComment } from './review.ts';
import styles from './comment.module.css';

/** Sends a message to the agent, or queues it. It resolves when the message cannot be lost any more. */
export type SendReview = (message: { id: string; text: string }) => Promise<void>;

interface Props {
  taskId: string;
  comments: readonly LineComment[];
  /** The paths of the changed files in their order. */
  order: readonly string[];
  onSend: SendReview;
}

/** How many comments there are, where the next one is, and the button that sends them as one message. */
export function ReviewBar({ taskId, comments, order, onSend }: Props) {
  const ready = comments.filter((c) => c.text !== '' && c.draft === undefined);
  const { send, sending, error } = useSend(taskId, ready, order, onSend);
  const [at, setAt] = useState(-1);
  const next = () => {
    const all = [...document.querySelectorAll<HTMLElement>('[data-comment]')];
    const to = all[(at + 1) % Math.max(1, all.length)];
    setAt((at + 1) % Math.max(1, all.length));
    to?.scrollIntoView({ block: 'center' });
    to?.querySelector<HTMLElement>('textarea, button')?.focus({ preventScroll: true });
  };
  if (comments.length === 0) return null;
  const unfinished = comments.length - ready.length;
  return (
    <footer className={styles.bar}>
      {error !== undefined && <Failure what="The comments were not sent. They are kept here" error={error} />}
      <div className={styles.barRow}>
        <span role="status">
          {countOf(comments.length)}
          {unfinished > 0 && `, ${unfinished} unfinished`}
        </span>
        <span className={styles.gap} />
        <Button small kind="quiet" onClick={next}>
          Next comment
        </Button>
        <Button small kind="primary" disabled={ready.length === 0 || sending} onClick={send}>
          {ready.length === 0 ? 'Send comments' : `Send ${countOf(ready.length)}`}
        </Button>
      </div>
    </footer>
  );
}

/** Bytes of a message that a broker accepts. */
const longestMessage = 1 << 20;

const countOf = (n: number) => (n === 1 ? '1 comment' : `${n} comments`);

function useSend(taskId: string, ready: readonly LineComment[], order: readonly string[], onSend: SendReview) {
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  /** A repeated message keeps its id: the broker stores it once, even if its first answer was lost. */
  const tried = useRef({ id: '', text: '' });
  const send = () => {
    const text = reviewMessage(ready, order);
    if (new Blob([text]).size > longestMessage) {
      setError(new Error('Together they are longer than a message can be. Remove or shorten some'));
      return;
    }
    if (tried.current.text !== text) tried.current = { id: newId(), text };
    setSending(true);
    setError(undefined);
    onSend(tried.current)
      .then(
        () => {
          tried.current = { id: '', text: '' };
          // A comment that was changed meanwhile was not sent as it is now.
          const isSent = (c: LineComment) =>
            ready.some((r) => r.id === c.id && r.text === c.text) && c.draft === undefined;
          changeReview(taskId, (r) => ({ ...r, comments: r.comments.filter((c) => !isSent(c)) }));
          toast(ready.length === 1 ? 'The comment is sent.' : `${ready.length} comments are sent.`);
        },
        (reason: unknown) => setError(reason),
      )
      .finally(() => setSending(false));
  };
  return { send, sending, error };
}
