import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { openedByKey } from '../../app/shortcuts.ts';
import type { Interaction, Task } from '../../app/types.ts';
import { IconButton } from '../../ui/button.tsx';
import { isComposing } from '../../ui/composing.ts';
import { Icon } from '../../ui/icon.tsx';
import { useArmed } from '../dock/armed.ts';
import { readDraft, saveDraft } from './draft.ts';
import { useCommandTasks } from './commands.ts';
import { useCompletion } from './completion.tsx';
import { Attached, DropZone, FilePicker, useAttachments, useTaken } from './attached.tsx';
import { filesOf, type AttachedFile } from './attachments.ts';
import styles from './composer.module.css';

interface Props {
  task: Task;
  busy: boolean;
  /** The user's last message; arrow up puts it into an empty field. */
  lastMessage: string;
  onSend: (text: string, files: readonly AttachedFile[]) => void;
  /** The open question, which the composer answers instead of sending a message. */
  question?: Interaction | undefined;
  onAnswer: (text: string) => void;
}

export function Composer({ task, busy, lastMessage, onSend, question, onAnswer }: Props) {
  const [text, change] = useDraft(question ? `answer.${question.id}` : task.id, question?.default ?? '');
  const taken = useTaken(task);
  const { files, setFiles, add } = useAttachments(taken);
  const sources = { paths: { taskId: task.id }, commandsOf: useCommandTasks(task, task.id) };
  const field = useRef<HTMLTextAreaElement>(null);
  const completion = useCompletion(field, text, change, question ? null : sources);
  const armed = useArmed(question?.id ?? '');
  const empty = text.trim() === '' && (question !== undefined || files.length === 0);
  const words = wordsOf(question !== undefined, busy);

  const send = () => {
    if (empty || (question && !armed)) return;
    if (question) onAnswer(text.trim());
    else {
      onSend(text.trim(), files);
      setFiles([]);
    }
    change('');
  };
  useEffect(() => {
    // On a phone the keyboard would cover the conversation.
    if (!matchMedia('(pointer: fine)').matches || openedByKey()) return;
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);

  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (completion.keys(event)) return;
    if (isComposing(event) || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape' && !busy) {
      event.currentTarget.blur();
    } else if (event.key === 'ArrowUp' && text === '' && lastMessage) {
      event.preventDefault();
      change(lastMessage);
    }
  };
  return (
    <DropZone onDrop={add}>
      {!question && <Attached files={files} onChange={setFiles} />}
      {completion.list}
      <textarea
        ref={field}
        {...completion.field}
        rows={1}
        dir="auto"
        data-composer
        aria-label={words.field}
        enterKeyHint="send"
        placeholder={words.placeholder}
        value={text}
        onChange={(e) => change(e.target.value)}
        onKeyDown={onKey}
        onPaste={(event) => {
          if (!question && add(filesOf(event.clipboardData, { pasted: true }))) event.preventDefault();
        }}
      />
      <div className={styles.bar}>
        {!question && <FilePicker taken={taken} onPick={add} />}
        <span className={styles.hint}>Enter {words.enter} · Shift Enter breaks the line</span>
        <IconButton
          kind="primary"
          className={styles.send}
          label={words.button}
          icon={<Icon name={busy && !question ? 'plus' : 'send'} />}
          disabled={empty || (question !== undefined && !armed)}
          onClick={send}
        />
      </div>
    </DropZone>
  );
}

/** The text of a draft. Another key shows another draft: a message stays as it is while a question is answered. */
function useDraft(key: string, initial: string): [string, (text: string) => void] {
  const [draft, setDraft] = useState(() => ({ key, text: readDraft(key) || initial }));
  if (draft.key !== key) setDraft({ key, text: readDraft(key) || initial });
  const change = (text: string) => {
    setDraft({ key, text });
    saveDraft(key, text);
  };
  return [draft.key === key ? draft.text : '', change];
}

function wordsOf(answering: boolean, busy: boolean) {
  if (answering)
    return { field: 'Your answer', placeholder: 'Answer the agent', enter: 'answers', button: 'Send answer' };
  if (busy)
    return {
      field: 'Message',
      placeholder: 'Write the next message; it is sent when the agent is done',
      enter: 'queues',
      button: 'Queue message',
    };
  return { field: 'Message', placeholder: 'Message the agent', enter: 'sends', button: 'Send message' };
}
