import { errorText, isTerminal, type NativePart } from '../part.js';
import { textBlocks } from './blocks.js';
import type { AskData, UiChunk } from './chunk.js';
import { toolChunks } from './tools.js';

type Of<T extends NativePart['type']> = Extract<NativePart, { type: T }>;

/** Converts the parts of one turn. */
export interface Converter {
  /** The chunks of a part. */
  convert(part: NativePart): UiChunk[];
  /** Chunks that end a UI stream although the turn continues, because the page has to answer. */
  park(): UiChunk[];
  /** Ends a replay: all later parts are new. */
  replayed(): void;
  /** Whether the page has to ask its user about an interaction. */
  isOpen(interactionId: string): boolean;
}

/**
 * Returns a converter of native parts to UIMessageChunks. It adds the start parts that a host left out, because the AI
 * SDK throws on a delta or a result without one. A replay is merged by ids with the shown parts: nothing is shown
 * twice.
 * `live`: approvals are data parts too, for pages without the SDK's approvals.
 */
export function newConverter(messageId: () => string | undefined, live = false): Converter {
  let out: UiChunk[] = [];
  let started = false;
  let inStep = false;
  let open: ReadonlySet<string> | undefined; // during a replay: the questions that still need an answer

  const push = (chunk: UiChunk) => void out.push(chunk);
  const step = () => {
    if (!inStep) push({ type: 'start-step' });
    inStep = true;
  };
  const show = (chunk: UiChunk) => {
    step();
    push(chunk);
  };
  const blocks = textBlocks(show);
  const endStep = () => {
    blocks.close();
    if (inStep) push({ type: 'finish-step' });
    inStep = false;
  };
  const isOpen = (id: string) => open?.has(id) ?? true;
  const tools = toolChunks(push, show, isOpen, live);
  const question = questionChunks(show);

  const handle = (part: NativePart): void => {
    if (blocks.take(part)) return;
    if (isTerminal(part)) {
      endStep();
      return push(endChunk(part));
    }
    switch (part.type) {
      case 'start-step':
        endStep();
        return step();
      case 'finish-step':
        return endStep();
      case 'source':
      case 'file':
        return show(attachmentChunk(part));
      case 'data-ask':
      case 'data-answer':
        return question(part);
      case 'data-resume':
        open = part.data.from ? new Set(part.data.openInteractions) : undefined;
        if (part.data.verdict === 'gap') blocks.rewind();
        return push({ ...part, transient: true });
      case 'data-notice':
      case 'data-queued':
      case 'data-context-restored':
        return push({ ...part, transient: true } as UiChunk);
      default:
        return tools(part);
    }
  };

  return {
    isOpen,
    replayed() {
      open = undefined;
    },
    park() {
      out = [];
      endStep();
      return [...out, { type: 'finish', finishReason: 'tool-calls' }];
    },
    convert(part) {
      out = [];
      handle(part);
      if (started || !out[0]) return out;
      started = true;
      return [{ type: 'start', messageId: messageId() }, ...out];
    },
  };
}

/** The conversion of a question: one data part whose state changes. */
function questionChunks(show: (chunk: UiChunk) => void): (part: Of<'data-ask'> | Of<'data-answer'>) => void {
  const questions = new Map<string, AskData>();
  return (part) => {
    const { id } = part;
    const known = questions.get(id);
    const data: AskData | undefined =
      part.type === 'data-ask'
        ? (known ?? { ...part.data, state: 'open' })
        : known && { ...known, state: part.data.state, answer: part.data.answer?.text };
    if (!data) return;
    questions.set(id, data);
    show({ type: 'data-ask', id, data });
  };
}

function attachmentChunk(part: Of<'source'> | Of<'file'>): UiChunk {
  if (part.type === 'file') {
    // The JSON of the SDK's GeneratedFile has base64Data: base64 is a getter.
    const { mediaType, base64Data, base64 = base64Data } = part.file;
    return { type: 'file', mediaType, url: `data:${mediaType};base64,${base64}` };
  }
  const { id: sourceId, sourceType, event: _, ...source } = part;
  const title = source.title ?? (sourceType === 'url' ? undefined : (source.filename ?? sourceId));
  return { ...source, type: `source-${sourceType}`, sourceId, title } as UiChunk;
}

function endChunk(part: Of<'finish' | 'abort' | 'error'>): UiChunk {
  const { type } = part;
  if (type === 'abort') return { type, reason: part.reason };
  if (type === 'error') return { type, errorText: errorText(part.error) };
  const { finishReason = 'other', totalUsage: usage, rawFinishReason: reason } = part;
  return { type, finishReason, messageMetadata: usage || reason ? { usage, reason } : undefined };
}
