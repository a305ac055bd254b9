import { useState, type KeyboardEvent } from 'react';
import { readDraft, saveDraft } from '../task/composer/draft.ts';
import { Button } from '../ui/button.tsx';
import { isComposing } from '../ui/composing.ts';
import { Failure } from '../ui/failure.tsx';
import { QueryStatus } from '../ui/query.tsx';
import { useAskSource, useConversation } from './api.ts';
import type { FollowupAttachment, Source } from '@bellhop/client';
import { attach, AttachButton, Attached, maxAttachments } from './attachments.tsx';
import { MessageView } from './message.tsx';
import { useMarkRead } from './unread.ts';
import styles from './notebooks.module.css';

/** The conversation about a source, with a field to continue it. */
export function SourceThread({ source }: { source: Source }) {
  const query = useConversation(source.id);
  const ask = useAskSource(source.id);
  const fresh = useMarkRead(source.id, query.data?.messages);
  const [files, setFiles] = useState<readonly FollowupAttachment[]>([]);
  const [refused, setRefused] = useState<unknown>(null);
  const key = `source.${source.id}`;
  const [text, setText] = useState(() => readDraft(key));
  const change = (value: string) => {
    setText(value);
    saveDraft(key, value);
  };
  const send = () => {
    const content = text.trim();
    if (content === '' || ask.isPending) return;
    ask.mutate(
      { content, attachments: files },
      {
        onSuccess: () => {
          change('');
          setFiles([]);
        },
      },
    );
  };
  const pick = async (picked: File[]) => {
    setRefused(null);
    try {
      const read = await Promise.all(picked.map(attach));
      if (files.length + read.length > maxAttachments) throw new Error(`More than ${maxAttachments} files`);
      setFiles((before) => [...before, ...read]);
    } catch (error) {
      setRefused(error);
    }
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    send();
  };
  const { agentName, agentStatus } = source.metadata;
  return (
    <section aria-label="Conversation" className={styles.thread}>
      <h2>Ask {agentName}</h2>
      <QueryStatus query={query} loading="the conversation" failed="The conversation could not be loaded" />
      {query.data?.messages.length === 0 && (
        <p className={styles.soft}>Nothing was asked yet. Your question goes to the agent that wrote this code.</p>
      )}
      <div role="log" aria-live="polite" aria-label="Thread">
        {query.data?.messages.map((m) => (
          <MessageView key={m.id} message={m} agentName={agentName} isNew={fresh.has(m.id)} />
        ))}
      </div>
      {agentStatus !== 'active' && (
        <p className={styles.soft}>
          {agentName} is {agentStatus}: renew the connection to get an answer. Questions are kept.
        </p>
      )}
      <Attached list={files} onRemove={(i) => setFiles(files.filter((_, at) => at !== i))} />
      <div className={styles.composer}>
        <AttachButton onPick={(picked) => void pick(picked)} />
        <textarea
          aria-label="Question"
          placeholder={`Ask ${agentName} about this code`}
          rows={2}
          dir="auto"
          value={text}
          onChange={(e) => change(e.target.value)}
          onKeyDown={onKey}
        />
        <Button kind="primary" disabled={text.trim() === '' || ask.isPending} onClick={send}>
          {ask.isPending ? 'Sending …' : 'Ask'}
        </Button>
      </div>
      {refused !== null && <Failure what="The file was not attached" error={refused} />}
      {ask.error && <Failure what="Your question was not sent" error={ask.error} retry={send} />}
    </section>
  );
}
