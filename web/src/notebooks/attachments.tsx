import { useRef } from 'react';
import { CodeBlock } from '../task/markdown/code.tsx';
import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import type { FollowupAttachment } from '@bellhop/client';
import styles from './notebooks.module.css';

export const maxAttachments = 8;
const maxBytes = 64 << 10;

const sizeOf = (text: string) => new TextEncoder().encode(text).length;

/** Returns a file as an attachment. Throws an Error with a reason for people if the broker would refuse the file. */
export async function attach(file: File): Promise<FollowupAttachment> {
  if (file.size > maxBytes) throw new Error(`${file.name} is larger than 64 KiB`);
  const bytes = await file.arrayBuffer();
  let content: string;
  try {
    content = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is no text`);
  }
  if (content.includes('\0')) throw new Error(`${file.name} is no text`);
  return { name: file.name.slice(-100) || 'text', type: file.type.slice(0, 100) || 'text/plain', content };
}

/** The texts that came with a message. */
export function Attachments({ list }: { list: readonly FollowupAttachment[] | undefined }) {
  return (
    <>
      {list?.map((a, i) => (
        <details key={i} className={styles.change}>
          <summary>
            <Icon name="clip" size={13} /> <bdi>{a.name}</bdi> ({sizeOf(a.content)} bytes)
          </summary>
          <CodeBlock code={a.content} language={a.name.split('.').at(-1) ?? ''} growing={false} />
        </details>
      ))}
    </>
  );
}

/** The texts that go with the next question, each with a button to remove it. */
export function Attached({
  list,
  onRemove,
}: {
  list: readonly FollowupAttachment[];
  onRemove: (index: number) => void;
}) {
  if (list.length === 0) return null;
  return (
    <ul className={styles.attached} aria-label="Attached files">
      {list.map((a, i) => (
        <li key={i}>
          <bdi>{a.name}</bdi>
          <IconButton label={`Remove ${a.name}`} icon={<Icon name="close" size={12} />} onClick={() => onRemove(i)} />
        </li>
      ))}
    </ul>
  );
}

export function AttachButton({ onPick }: { onPick: (files: File[]) => void }) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(e) => {
          onPick([...(e.target.files ?? [])]);
          e.target.value = '';
        }}
      />
      <IconButton label="Attach text files" icon={<Icon name="clip" />} onClick={() => picker.current?.click()} />
    </>
  );
}
