import { useRef, useState, type ReactNode } from 'react';
import { useOffers } from '../../tasks/api.ts';
import type { Task } from '../../app/types.ts';
import { spellName } from '../../ui/bidi.ts';
import { IconButton } from '../../ui/button.tsx';
import { cx } from '../../ui/class.ts';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toast.tsx';
import {
  acceptOf,
  filesOf,
  limitsOf,
  readFiles,
  sizeText,
  takenBy,
  type AttachedFile,
  type Taken,
} from './attachments.ts';
import styles from './composer.module.css';

/** What a task's agent takes; images while its host is not known. */
export function useTaken(task: Pick<Task, 'agent' | 'hostId'>): Taken {
  return takenBy(useOffers().data ?? { agents: [], hosts: [] }, task);
}

/** The files of the message. `add` returns whether there were any. */
export function useAttachments(taken: Taken) {
  const [files, setFiles] = useState<readonly AttachedFile[]>([]);
  const read = async (list: readonly File[]) => {
    const { read: added, refused } = await readFiles(list, files, taken);
    if (refused) toast(refused);
    setFiles((before) => [...before, ...added]);
  };
  const add = (list: readonly File[]): boolean => {
    if (list.length > 0) void read(list);
    return list.length > 0;
  };
  return { files, setFiles, add };
}

export function DropZone({ onDrop, children }: { onDrop: (files: readonly File[]) => void; children: ReactNode }) {
  const [over, setOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files can be attached by a button as well.
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
        onDrop(filesOf(e.dataTransfer));
      }}
    >
      {children}
    </div>
  );
}

export function Attached({
  files,
  onChange,
}: {
  files: readonly AttachedFile[];
  onChange: (files: readonly AttachedFile[]) => void;
}) {
  if (files.length === 0) return null;
  return (
    <ul className={styles.files} aria-label="Attachments">
      {files.map((f, i) => (
        <li key={i}>
          {f.kind === 'image' ? (
            <img src={f.url} alt={f.name} />
          ) : (
            <span className={styles.file}>
              <span dir="auto">{spellName(f.name)}</span>
              <small>{sizeText(f.bytes)}</small>
            </span>
          )}
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

export function FilePicker({ taken, onPick }: { taken: Taken; onPick: (files: readonly File[]) => void }) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        type="file"
        accept={acceptOf(taken)}
        multiple
        hidden
        onChange={(e) => {
          onPick([...(e.target.files ?? [])]);
          e.target.value = '';
        }}
      />
      <IconButton
        label="Attach files"
        title={`Attach files: ${limitsOf(taken)}`}
        icon={<Icon name="clip" />}
        onClick={() => picker.current?.click()}
      />
    </>
  );
}
