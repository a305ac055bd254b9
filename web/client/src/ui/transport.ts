import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import { AgentClient, newId } from '../agent.js';
import type { BellhopError } from '../error.js';
import type { ClientOptions } from '../options.js';
import type { PromptOptions, Turn } from '../turn.js';
import type { Answer } from '../contract.js';
import type { WhenBusy } from '../wire.js';
import { answersIn, approvalsIn, markSent, promptOf } from './message.js';
import { Run, type RunOptions } from './run.js';

export interface BellhopOptions extends ClientOptions, RunOptions {
  /** The id of the task. Default: the chat's id. */
  taskId?: string | undefined;
  /**
   * `park` (default): a permission ends the UI stream, so that stock approval components and `sendAutomaticallyWhen`
   * work. The answer continues the same message. `live`: the stream stays open, permissions are `data-approval` parts,
   * and `respond` answers them. Use it with the AI SDK 5, which has no approvals, and in pages with their own
   * permission dialog.
   */
  approvals?: 'park' | 'live' | undefined;
  /** What the host does with a prompt while a turn is open. Default `reject`. */
  whenBusy?: WhenBusy | undefined;
  /** A permission was answered in another tab or has expired: call `resumeStream()` of the chat. */
  onAnswered?: ((interactionId: string) => void) | undefined;
}

type Send<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];
type Reconnect<M extends UIMessage> = Parameters<ChatTransport<M>['reconnectToStream']>[0];

/**
 * A ChatTransport of the AI SDK 5, 6 and 7 whose chats are tasks of a Bellhop broker. Aborting a stream detaches from
 * the turn; `interrupt` stops it. It imports only types of the SDK.
 */
export class BellhopTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** Declares to the AI SDK 6 and 7 that a resumed stream begins at the start of the turn. */
  readonly resumeStreamIsReplay = true;
  readonly client: AgentClient<BellhopOptions>;
  readonly #runs = new Map<string, Run>();
  /** Ids of messages that were not checked in. */
  readonly #failed = new Set<string>();

  constructor(options: BellhopOptions = {}) {
    this.client = new AgentClient(options);
  }

  /** Replaces the options. Running turns keep theirs, except for callbacks. */
  configure(options: BellhopOptions): void {
    this.client.options = options;
  }

  sendMessages = async (send: Send<M>): Promise<ReadableStream<UIMessageChunk>> => {
    const { chatId, messages, trigger, abortSignal } = send;
    const submits = trigger === 'submit-message';
    const last = messages.at(-1);
    if (submits && last?.role === 'assistant') return this.#continue(chatId, last, send);
    const user = messages.findLast((message) => message.role === 'user');
    if (!user) throw new TypeError('No message');
    const { text, ...files } = promptOf(user);
    const extra = (send.body ?? {}) as Pick<PromptOptions, 'artifacts' | 'bindPrompt' | 'whenBusy' | 'force'>;
    // Regenerating sends another message; retrying after a failure sends the same one.
    const regenerates = !submits && !this.#failed.has(user.id);
    this.#failed.add(user.id);
    const turn = await this.client.prompt(this.#taskId(chatId), text, {
      whenBusy: this.client.options.whenBusy,
      ...extra,
      messageId: regenerates ? newId() : user.id,
      artifacts: files.artifacts.concat(extra.artifacts ?? []),
      attachments: files.attachments,
      signal: abortSignal,
    });
    this.#failed.delete(user.id);
    return this.#run(turn).attach(abortSignal);
  };

  reconnectToStream = async ({
    chatId,
    abortSignal,
  }: Reconnect<M> & { abortSignal?: AbortSignal | undefined }): Promise<ReadableStream<UIMessageChunk> | null> => {
    const run = await this.#resume(chatId, abortSignal);
    return run?.attach(abortSignal) ?? null;
  };

  /** Answers a permission (`approved`) or a question (`text`) of the chat's open turn. */
  async respond(interactionId: string, answer: Answer, chatId = ''): Promise<void> {
    await (this.#runs.get(this.#taskId(chatId)) ?? this.client).answer(interactionId, answer);
  }

  /** Stops the agent; resolves when it has stopped. The stream then ends by itself. */
  async interrupt(chatId = ''): Promise<void> {
    const taskId = this.#taskId(chatId);
    await (this.#runs.get(taskId) ?? this.client).interrupt(taskId);
  }

  #taskId(chatId: string): string {
    return this.client.options.taskId ?? chatId;
  }

  #run(turn: Turn, shown?: Iterable<string>): Run {
    this.#runs.get(turn.taskId)?.detach();
    const run = new Run(turn, () => this.client.options, shown);
    this.#runs.set(turn.taskId, run);
    return run;
  }

  async #resume(chatId: string, signal: AbortSignal | undefined, message?: M): Promise<Run | undefined> {
    const turn = await this.client.resume(this.#taskId(chatId), { signal, turnId: message?.id });
    return turn ? this.#run(turn, message && approvalsIn(message).map(({ id }) => id)) : undefined;
  }

  /** Sends the answers of the page and continues the same turn in the same message. */
  async #continue(chatId: string, message: M, { abortSignal, body }: Send<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { remember } = (body ?? {}) as Pick<Answer, 'remember'>;
    let run = this.#runs.get(this.#taskId(chatId));
    // biome-ignore lint/style/noNonNullAssertion: resuming a turn by its id gives that turn or throws.
    if (!run || run.over) run = (await this.#resume(chatId, abortSignal, message))!;
    const stream = run.attach(abortSignal);
    try {
      for (const { id, approved, reason } of answersIn(message)) {
        await run.answer(id, { approved, reason, remember }).catch(ignoreLate);
        markSent(message, id);
      }
    } catch (error) {
      await stream.cancel();
      throw error;
    }
    return stream;
  }
}

/** Ignores that the question was answered elsewhere or has expired: the stream shows the outcome. */
function ignoreLate(error: unknown): void {
  if (![409, 410].includes((error as BellhopError).status)) throw error;
}

const shared = new Map<string, BellhopTransport>();

/**
 * Returns the transport of a task: `useChat({ transport: bellhop({ taskId }) })`. In a browser it is the same object
 * for the same endpoint and task: useChat of the AI SDK 7 takes a transport made while rendering, and a new one would
 * not know the turn.
 */
export function bellhop<M extends UIMessage = UIMessage>(options: BellhopOptions = {}): BellhopTransport<M> {
  const key = String([options.endpoint, options.taskId, options.token]);
  const transport = shared.get(key) ?? new BellhopTransport(options);
  transport.configure(options);
  // A server renders for several users, who must not share a transport.
  if (globalThis.window) shared.set(key, transport);
  return transport as unknown as BellhopTransport<M>;
}
