import * as sdk from 'ai';
import type { ChatInit, ChatState, ChatStatus, UIMessage } from 'ai';
import { vi } from 'vitest';

/** A chat's state without a framework. It copies messages deeply, as the frameworks do. */
class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined;

  constructor(public messages: UIMessage[]) {}

  pushMessage = (message: UIMessage) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.map((old, at) => (at === index ? structuredClone(message) : old));
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

/** The chat class of a version of the SDK. */
export const chatOf = ({ AbstractChat }: Pick<typeof sdk, 'AbstractChat'>) =>
  class extends AbstractChat<UIMessage> {
    constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
      super({ ...init, state: new State(messages) });
    }

    get text(): string {
      return (this.lastMessage?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('|');
    }

    get tools(): string {
      return (this.lastMessage?.parts ?? [])
        .flatMap((part) => (part.type === 'dynamic-tool' ? [`${part.toolName}:${part.state}`] : []))
        .join(',');
    }

    get approval(): { id: string } | undefined {
      const part = this.lastMessage?.parts.find(
        (candidate) => 'state' in candidate && candidate.state === 'approval-requested',
      );
      return part && 'approval' in part ? (part.approval as { id: string }) : undefined;
    }

    data(type: string): unknown[] {
      return (this.lastMessage?.parts ?? []).flatMap((part) =>
        part.type === type && 'data' in part ? [part.data] : [],
      );
    }
  };

/** The chat class of the version that the test project aliases "ai" to. */
export class Chat extends chatOf(sdk) {}

/** Polls a state of a chat, because the chat has no promise for it. */
export const until = (condition: () => boolean) =>
  vi.waitFor(
    () => {
      if (!condition()) throw new Error(`not yet: ${condition.toString()}`);
    },
    { timeout: 30_000, interval: 5 },
  );
