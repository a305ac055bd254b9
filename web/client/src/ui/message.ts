import type { UIMessage } from 'ai';
import type { Attachment } from '../contract.js';
import type { ArtifactInput } from '../wire.js';

/** Splits a user's message into its text, the images, texts and PDFs in it, and its other files as artifacts. */
export function promptOf(message: UIMessage): { text: string; attachments: Attachment[]; artifacts: ArtifactInput[] } {
  const text: string[] = [];
  const attachments: Attachment[] = [];
  const artifacts: ArtifactInput[] = [];
  for (const part of message.parts) {
    if (part.type === 'text') text.push(part.text);
    if (part.type !== 'file') continue;
    const { mediaType, url, filename = '' } = part;
    const [, kind, data] = url.split(/^data:(image|text|application)\/[^,]*;base64,/);
    if (data && (kind !== 'application' || mediaType === 'application/pdf'))
      attachments.push({
        type: kind === 'image' ? kind : 'document',
        mediaType,
        ...(filename && { name: filename }),
        data,
      });
    else artifacts.push({ type: 'FILE', content: { mediaType, url, filename } });
  }
  // A message may be an image alone, but a check-in needs text.
  return { text: text.join('\n') || (attachments[0] || artifacts[0] ? '(attachment)' : ''), attachments, artifacts };
}

interface Approval {
  id: string;
  approved: boolean;
  reason?: string | undefined;
}

/** Returns the permissions of a message, in all states or in one. Approvals are not in the types of the AI SDK 5. */
export function approvalsIn(message: UIMessage, wanted?: string): Approval[] {
  return message.parts.flatMap((part) => {
    const { state, approval } = part as unknown as { state?: string; approval?: Approval };
    return approval && (!wanted || state === `approval-${wanted}`) ? [approval] : [];
  });
}

/** Returns the user's answers in a message that were not sent yet. */
export function answersIn(message: UIMessage): Approval[] {
  return approvalsIn(message, 'responded').filter(({ id }) => !sent.has(`${message.id} ${id}`));
}

/** Permissions whose answer was sent or came too late, by message. All chats of a page share it, because the
 * predicate below receives only messages; the id of a message is its turn's. */
const sent = new Set<string>();

export function markSent(message: UIMessage, approvalId: string): void {
  sent.add(`${message.id} ${approvalId}`);
}

/**
 * For `sendAutomaticallyWhen`: whether the last message has an answer that was not sent, and no permission without an
 * answer. Unlike the SDK's own predicate it does not wait for tools that run in parallel: the agent completes those,
 * not the page.
 */
export function shouldSendAutomatically({ messages }: { messages: UIMessage[] }): boolean {
  const last = messages.at(-1);
  return last?.role === 'assistant' && !approvalsIn(last, 'requested')[0] && !!answersIn(last)[0];
}
