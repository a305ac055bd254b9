import { useEffect, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from 'react';
import { justStepped } from '../../app/shortcuts.ts';
import { toast } from '../../ui/toast.tsx';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { cx } from '../../ui/class.ts';
import { readDraft, saveDraft } from './draft.ts';
import { imagesOf, readImages } from './images.ts';
import type { ImageFile } from './queue.ts';
import styles from './composer.module.css';

interface Props {
  taskId: string;
  busy: boolean;
  /** The last message of the user, for the arrow up. */
  lastMessage: string;
  onSend: (text: string, files: readonly ImageFile[]) => void;
}

export function Composer({ taskId, busy, lastMessage, onSend }: Props) {
  const [text, setText] = useState(() => readDraft(taskId));
  const [files, setFiles] = useState<readonly ImageFile[]>([]);
  const [over, setOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  const change = (value: string) => {
    setText(value);
    saveDraft(taskId, value);
  };
  const send = () => {
    if (text.trim() === '' && files.length === 0) return;
    onSend(text.trim(), files);
    change('');
    setFiles([]);
  };
  const add = async (list: readonly File[]) => {
    if (list.length === 0) return;
    const { images, refused } = await readImages(list, files);
    if (refused) toast(refused);
    setFiles((before) => [...before, ...images]);
  };
  useEffect(() => {
    // On a phone the keyboard would hide what was opened to be read.
    if (!matchMedia('(pointer: fine)').matches || justStepped()) return;
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);

  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // keyCode 229: Safari ends a composition before it tells of the Enter that did.
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
  const onPaste = (event: ClipboardEvent) => {
    const images = imagesOf(event.clipboardData);
    if (images.length === 0) return;
    event.preventDefault();
    void add(images);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void add(imagesOf(event.dataTransfer));
  };
  return (
    <div className={cx(styles.composer, over && styles.over)} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={onDrop}>
      {files.length > 0 && (
        <ul className={styles.files} aria-label="Attachments">
          {files.map((f, i) => (
            <li key={i}>
              <img src={f.url} alt={f.name} />
              <IconButton label={`Remove ${f.name}`} icon={<Icon name="close" size={12} />} onClick={() => setFiles(files.filter((_, j) => j !== i))} />
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field} rows={1} dir="auto" data-composer aria-label="Message" enterKeyHint="send"
        placeholder={busy ? 'Write the next message; it is sent when the agent is done' : 'Message the agent'}
        value={text} onChange={(e) => change(e.target.value)} onKeyDown={onKey} onPaste={onPaste}
      />
      <div className={styles.bar}>
        <input ref={picker} type="file" accept="image/png,image/jpeg,image/gif,image/webp" multiple hidden onChange={(e) => { void add([...(e.target.files ?? [])]); e.target.value = ''; }} />
        <IconButton label="Attach images" icon={<Icon name="clip" />} onClick={() => picker.current?.click()} />
        <span className={styles.hint}>{busy ? 'Enter queues' : 'Enter sends'} · Shift Enter breaks the line</span>
        <IconButton kind="primary" className={styles.send} label={busy ? 'Queue message' : 'Send message'} icon={<Icon name={busy ? 'plus' : 'send'} />} disabled={text.trim() === '' && files.length === 0} onClick={send} />
      </div>
    </div>
  );
}
