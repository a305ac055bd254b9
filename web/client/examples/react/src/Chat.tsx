import { useChat } from '@ai-sdk/react';
import { bellhop, shouldSendAutomatically } from '@bellhop/client/ai-sdk';
import { useState } from 'react';

export function Chat({ taskId }: { taskId: string }) {
  const transport = bellhop({ taskId });
  const { messages, status, error, sendMessage, resumeStream, addToolApprovalResponse } = useChat({
    id: taskId,
    resume: true,
    transport,
    sendAutomaticallyWhen: shouldSendAutomatically,
    onError: console.error,
  });
  const [draft, setDraft] = useState('');
  const busy = status === 'submitted' || status === 'streaming';
  return (
    <>
      {messages.map((message) => (
        <section key={message.id} aria-label={message.role}>
          {message.parts.map((part, at) => {
            if (part.type === 'text')
              return (
                <p key={at} style={{ whiteSpace: 'pre-wrap' }}>
                  {part.text}
                </p>
              );
            if (part.type !== 'dynamic-tool') return null;
            return (
              <details key={part.toolCallId} open={part.state === 'approval-requested'}>
                <summary>
                  {part.toolName}: {part.state}
                </summary>
                <pre>{JSON.stringify(part.input, null, 2)}</pre>
                {part.state === 'approval-requested' && (
                  <>
                    <button onClick={() => void addToolApprovalResponse({ id: part.approval.id, approved: false })}>
                      Deny
                    </button>
                    <button onClick={() => void addToolApprovalResponse({ id: part.approval.id, approved: true })}>
                      Allow
                    </button>
                  </>
                )}
              </details>
            );
          })}
        </section>
      ))}
      {error && (
        <p role="alert">
          {error.message} <button onClick={() => void resumeStream()}>Reconnect</button>
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (draft === '' || busy) return;
          void sendMessage({ text: draft });
          setDraft('');
        }}
      >
        <input
          aria-label="Message"
          value={draft}
          placeholder="help"
          onChange={(event) => setDraft(event.target.value)}
        />
        {busy ? (
          <button type="button" onClick={() => void transport.interrupt(taskId)}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </>
  );
}
