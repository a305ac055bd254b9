import { useRef, useState, type KeyboardEvent } from 'react';
import { escapeBidi, spellName } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { isComposing } from '../ui/composing.ts';
import { toast } from '../ui/toast.tsx';
import type { DiffLine } from './parse.ts';
import {
  closeForm,
  editComment,
  keepDraft,
  removeComments,
  restoreComment,
  saveComment,
  takeFocus,
  type LineComment,
} from './review.ts';
import styles from './comment.module.css';

/** Characters of a comment. */
const longestText = 20_000;

const nameOf = ({ side, line }: LineComment) => `Comment on ${side === 'before' ? 'removed ' : ''}line ${line}`;

/** A comment at its line, or the form in which it is written. */
export function Comment({
  taskId,
  comment,
  lines,
}: {
  taskId: string;
  comment: LineComment;
  /** The lines of the row above. */
  lines: readonly DiffLine[];
}) {
  const moved = !lines.some((l) => l[comment.side] === comment.line);
  return (
    <div className={styles.comment} data-comment={comment.id} role="group" aria-label={nameOf(comment)}>
      {moved && <p className={styles.note}>Written on line {comment.line}; the line has moved.</p>}
      <CommentBody taskId={taskId} comment={comment} />
    </div>
  );
}

/** A comment whose line is gone, with the code that it was written on. */
export function GoneComment({ taskId, comment }: { taskId: string; comment: LineComment }) {
  return (
    <div className={styles.comment} data-comment={comment.id} role="group" aria-label={nameOf(comment)}>
      <p className={styles.note}>
        <bdi className={styles.file}>{spellName(comment.path)}</bdi>, line {comment.line}: this line is not among the
        changes any more. The comment is kept, and is sent with its code.
      </p>
      <pre className={styles.code}>{escapeBidi(comment.code) || ' '}</pre>
      <CommentBody taskId={taskId} comment={comment} />
    </div>
  );
}

function CommentBody({ taskId, comment }: { taskId: string; comment: LineComment }) {
  if (comment.draft !== undefined) return <CommentForm taskId={taskId} comment={comment} initial={comment.draft} />;
  const remove = () => {
    removeComments(taskId, [comment.id]);
    toast('The comment is removed.', { label: 'Undo', run: () => restoreComment(taskId, comment) });
  };
  return (
    <>
      <p className={styles.words} dir="auto">
        {comment.text}
      </p>
      <div className={styles.commentButtons}>
        <Button small kind="quiet" onClick={() => editComment(taskId, comment)}>
          Edit
        </Button>
        <Button small kind="quiet" onClick={remove}>
          Remove
        </Button>
      </div>
    </>
  );
}

function CommentForm({ taskId, comment, initial }: { taskId: string; comment: LineComment; initial: string }) {
  const [text, setText] = useState(initial);
  const [focused] = useState(() => takeFocus(comment.id));
  const form = useRef<HTMLFormElement>(null);
  const isEmpty = text.trim() === '';
  /** Leads back to the line, so that the arrow keys continue from there. */
  const leave = (close: () => void) => {
    const table = form.current?.closest('table');
    const line = `button[data-side="${comment.side}"][data-line="${comment.line}"]`;
    close();
    table?.querySelector<HTMLElement>(line)?.focus({ preventScroll: true });
  };
  const save = () => {
    if (!isEmpty) leave(() => saveComment(taskId, comment.id, text.trim()));
  };
  const onKey = (event: KeyboardEvent) => {
    if (isComposing(event)) return;
    if (event.key === 'Enter' && !event.shiftKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      save();
    } else if (event.key === 'Escape' && (isEmpty || text === comment.text)) {
      leave(() => closeForm(taskId, comment));
    }
  };
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        aria-label={nameOf(comment)}
        placeholder="What should the agent know or change here?"
        dir="auto"
        rows={3}
        maxLength={longestText}
        autoFocus={focused}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          keepDraft(taskId, comment.id, event.target.value);
        }}
        onKeyDown={onKey}
      />
      <div className={styles.commentButtons}>
        <Button small kind="primary" type="submit" disabled={isEmpty}>
          {comment.text === '' ? 'Add comment' : 'Save comment'}
        </Button>
        <Button small kind="quiet" onClick={() => leave(() => closeForm(taskId, comment))}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
