/** Compiled against each major version of the AI SDK and never run. */
import type { ChatInit, ChatTransport, UIMessage } from 'ai';
import { bellhop, BellhopTransport, shouldSendAutomatically, type TurnMetadata } from '../../src/ai-sdk.js';
import { toUIMessages } from '../../src/history.js';

type Mine = UIMessage<TurnMetadata>;

export const plain: ChatTransport<UIMessage> = bellhop({ taskId: 't' });
export const own: ChatTransport<Mine> = new BellhopTransport<Mine>({ taskId: 't', approvals: 'live' });
export const init: ChatInit<UIMessage> = {
  transport: bellhop({ taskId: 't', endpoint: 'https://bellhop.example.com', token: async () => 'bhp_…' }),
  sendAutomaticallyWhen: shouldSendAutomatically,
  messages: toUIMessages([]),
};

// @ts-expect-error: the mode is unknown
bellhop({ approvals: 'later' });
