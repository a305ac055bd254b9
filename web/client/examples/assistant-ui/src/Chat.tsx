import { useChat } from '@ai-sdk/react';
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from '@assistant-ui/react';
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk';
import { bellhop, shouldSendAutomatically } from '@bellhop/client/ai-sdk';

export function Chat({ taskId }: { taskId: string }) {
  const transport = bellhop({ taskId });
  const chat = useChat({
    id: taskId,
    resume: true,
    transport,
    sendAutomaticallyWhen: shouldSendAutomatically,
    onError: console.error,
  });
  const busy = chat.status === 'submitted' || chat.status === 'streaming';
  const runtime = useAISDKRuntime(chat);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages>{() => <Message />}</ThreadPrimitive.Messages>
        {chat.error && (
          <p role="alert">
            {chat.error.message} <button onClick={() => void chat.resumeStream()}>Reconnect</button>
          </p>
        )}
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" placeholder="help" />
          {busy ? (
            // ComposerPrimitive.Cancel would only leave the stream: the agent would go on.
            <button type="button" onClick={() => void transport.interrupt(taskId)}>
              Stop
            </button>
          ) : (
            <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          )}
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ Text, tools: { Fallback: ToolCall } }} />
    </MessagePrimitive.Root>
  );
}

function Text({ text }: { text: string }) {
  return <p style={{ whiteSpace: 'pre-wrap' }}>{text}</p>;
}

function ToolCall({ toolName, args, result, approval, respondToApproval }: ToolCallMessagePartProps) {
  const asked = approval !== undefined && approval.approved === undefined && approval.resolution === undefined;
  const denied = approval?.approved === false;
  return (
    <details open={asked}>
      <summary>
        {toolName}: {asked ? 'asks' : denied ? 'denied' : result === undefined ? 'running' : 'done'}
      </summary>
      <pre>{JSON.stringify(args, null, 2)}</pre>
      {asked && (
        <>
          <button onClick={() => void respondToApproval({ approved: false })}>Deny</button>
          <button onClick={() => void respondToApproval({ approved: true })}>Allow</button>
        </>
      )}
    </details>
  );
}
