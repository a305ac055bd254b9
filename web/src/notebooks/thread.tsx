import { useState, type KeyboardEvent } from 'react';
import { readDraft, saveDraft } from '../task/composer/draft.ts';
import { Markdown } from '../task/markdown/markdown.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';
import { useAskSource, useConversation } from './api.ts';
import type { FollowupMessage, Source } from '@bellhop/client';
import { VersionDiff } from './versions.tsx';
import styles from './notebooks.module.css';

/** The conversation about a source, with a field to continue it. */
export function SourceThread({ source }: { source: Source }) {
  const query = useConversation(source.id);
  const ask = useAskSource(source.id);
  const key = `source.${source.id}`;
  const [text, setText] = useState(() => readDraft(key));
  const change = (value: string) => {
    setText(value);
    saveDraft(key, value);
  };
  const send = () => {
    const content = text.trim();
    if (content === '' || ask.isPending) return;
    ask.mutate(content, { onSuccess: () => change('') });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  };
  const { agentName, agentStatus } = source.metadata;
  return (
    <section aria-label="Conversation" className={styles.thread}>
      <h2>Ask {agentName}</h2>
      {query.isPending && <Loading what="the conversation" />}
      {query.error && (
        <Failure what="The conversation could not be loaded" error={query.error} retry={() => void query.refetch()} />
      )}
      {query.data?.messages.length === 0 && (
        <p className={styles.soft}>Nothing was asked yet. Your question goes to the agent that wrote this code.</p>
      )}
      <div role="log" aria-live="polite" aria-label="Thread">
        {query.data?.messages.map((m) => (
          <FollowupView key={m.id} message={m} agentName={agentName} />
        ))}
      </div>
      {agentStatus !== 'active' && (
        <p className={styles.soft}>
          {agentName} is {agentStatus}: renew the connection to get an answer. Questions are kept.
        </p>
      )}
      <div className={styles.composer}>
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
      {ask.error && <Failure what="Your question was not sent" error={ask.error} retry={send} />}
    </section>
  );
}

function FollowupView({ message, agentName }: { message: FollowupMessage; agentName: string }) {
  const { metadata } = message;
  const change = metadata.codeModification;
  return (
    <article className={styles.message} data-role={message.role}>
      <header>
        <strong>{message.role === 'user' ? 'You' : agentName}</strong>
        <Ago at={message.timestamp} />
        {message.role === 'user' && <Delivery message={message} />}
      </header>
      {message.role === 'user' ? (
        <p className={styles.asked} dir="auto">
          {message.content}
        </p>
      ) : (
        <Markdown text={message.content} />
      )}
      {change && (
        <details className={styles.change}>
          <summary>
            Made version {change.version}
            {change.description && `: ${change.description}`}
          </summary>
          <VersionDiff diff={change.diff} />
        </details>
      )}
    </article>
  );
}

function Delivery({ message: { metadata } }: { message: FollowupMessage }) {
  if (metadata.failure)
    return (
      <Badge tone="bad" icon="warn">
        {metadata.delivered ? `Refused: ${metadata.failure}` : metadata.failure}
      </Badge>
    );
  if (metadata.read)
    return (
      <Badge tone="good" icon="check">
        Answered
      </Badge>
    );
  if (metadata.delivered) return <Badge tone="busy">Delivered, waiting for an answer</Badge>;
  return <Badge tone="soft">Waiting for the agent</Badge>;
}
