import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { openedByKey } from '../../app/shortcuts.ts';
import type { Interaction } from '../../app/types.ts';
import { toast } from '../../ui/toast.tsx';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { cx } from '../../ui/class.ts';
import { useArmed } from '../dock/armed.ts';
import { readDraft, saveDraft } from './draft.ts';
import { usePaths } from './paths.tsx';
import { acceptedImages, imagesOf, readImages } from './images.ts';
import type { ImageFile } from './queue.ts';
import styles from './composer.module.css';

interface Props {
  taskId: string;
  busy: boolean;
  /** The user's last message; arrow up puts it into an empty field. */
  lastMessage: string;
  onSend: (text: string, files: readonly ImageFile[]) => void;
  /** The open question, which the composer answers instead of sending a message. */
  question?: Interaction | undefined;
  onAnswer: (text: string) => void;
}

export function Composer({ taskId, busy, lastMessage, onSend, question, onAnswer }: Props) {
  const [text, change] = useDraft(question ? `answer.${question.id}` : taskId, question?.default ?? '');
  const { files, setFiles, add } = useImages();
  const field = useRef<HTMLTextAreaElement>(null);
  const paths = usePaths(field, text, change, question ? null : { taskId });
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
    if (paths.keys(event)) return;
    // keyCode 229: Safari ends a composition before it reports the Enter key that ended it.
    if (event.nativeEvent.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey) return;
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
      {paths.list}
      <textarea
        ref={field}
        {...paths.field}
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
          if (!question && add(imagesOf(event.clipboardData))) event.preventDefault();
        }}
      />
      <div className={styles.bar}>
        {!question && <ImagePicker onPick={add} />}
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

/** The images of the message. `add` returns whether there were any. */
function useImages() {
  const [files, setFiles] = useState<readonly ImageFile[]>([]);
  const read = async (list: readonly File[]) => {
    const { images, refused } = await readImages(list, files);
    if (refused) toast(refused);
    setFiles((before) => [...before, ...images]);
  };
  const add = (list: readonly File[]): boolean => {
    if (list.length > 0) void read(list);
    return list.length > 0;
  };
  return { files, setFiles, add };
}

function DropZone({ onDrop, children }: { onDrop: (files: readonly File[]) => void; children: ReactNode }) {
  const [over, setOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: images can be attached by a button as well.
    <div
      className={cx(styles.composer, over && styles.over)}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault();
        setOver(false);
        onDrop(imagesOf(e.dataTransfer));
      }}
    >
      {children}
    </div>
  );
}

function Attached({
  files,
  onChange,
}: {
  files: readonly ImageFile[];
  onChange: (files: readonly ImageFile[]) => void;
}) {
  if (files.length === 0) return null;
  return (
    <ul className={styles.files} aria-label="Attachments">
      {files.map((f, i) => (
        <li key={i}>
          <img src={f.url} alt={f.name} />
          <IconButton
            label={`Remove ${f.name}`}
            icon={<Icon name="close" size={12} />}
            onClick={() => onChange(files.filter((_, j) => j !== i))}
          />
        </li>
      ))}
    </ul>
  );
}

function ImagePicker({ onPick }: { onPick: (files: readonly File[]) => void }) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        type="file"
        accept={acceptedImages.join(',')}
        multiple
        hidden
        onChange={(e) => {
          onPick([...(e.target.files ?? [])]);
          e.target.value = '';
        }}
      />
      <IconButton label="Attach images" icon={<Icon name="clip" />} onClick={() => picker.current?.click()} />
    </>
  );
}
