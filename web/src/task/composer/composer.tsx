import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { openedByKey } from '../../app/shortcuts.ts';
import { toast } from '../../ui/toast.tsx';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { cx } from '../../ui/class.ts';
import { readDraft, saveDraft } from './draft.ts';
import { acceptedImages, imagesOf, readImages } from './images.ts';
import type { ImageFile } from './queue.ts';
import styles from './composer.module.css';

interface Props {
  taskId: string;
  busy: boolean;
  /** The user's last message; arrow up puts it into an empty field. */
  lastMessage: string;
  onSend: (text: string, files: readonly ImageFile[]) => void;
}

export function Composer({ taskId, busy, lastMessage, onSend }: Props) {
  const [text, setText] = useState(() => readDraft(taskId));
  const { files, setFiles, add } = useImages();
  const field = useRef<HTMLTextAreaElement>(null);
  const empty = text.trim() === '' && files.length === 0;

  const change = (value: string) => {
    setText(value);
    saveDraft(taskId, value);
  };
  const send = () => {
    if (empty) return;
    onSend(text.trim(), files);
    change('');
    setFiles([]);
  };
  useEffect(() => {
    // On a phone the keyboard would cover the conversation.
    if (!matchMedia('(pointer: fine)').matches || openedByKey()) return;
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);

  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
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
      <Attached files={files} onChange={setFiles} />
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        data-composer
        aria-label="Message"
        enterKeyHint="send"
        placeholder={busy ? 'Write the next message; it is sent when the agent is done' : 'Message the agent'}
        value={text}
        onChange={(e) => change(e.target.value)}
        onKeyDown={onKey}
        onPaste={(event) => {
          if (add(imagesOf(event.clipboardData))) event.preventDefault();
        }}
      />
      <div className={styles.bar}>
        <ImagePicker onPick={add} />
        <span className={styles.hint}>{busy ? 'Enter queues' : 'Enter sends'} · Shift Enter breaks the line</span>
        <IconButton
          kind="primary"
          className={styles.send}
          label={busy ? 'Queue message' : 'Send message'}
          icon={<Icon name={busy ? 'plus' : 'send'} />}
          disabled={empty}
          onClick={send}
        />
      </div>
    </DropZone>
  );
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
