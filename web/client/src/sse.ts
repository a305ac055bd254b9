export interface SseEvent {
  event: string;
  data: string;
  /**
   * The id of this frame alone. EventSource's lastEventId would keep the last one, but some frames of a replay have
   * none.
   */
  id: string | undefined;
}

/** Characters that an unfinished event may have: more than any event of a host has. */
const maxEvent = 2 ** 24;

/**
 * Reads server-sent events from a fetch body (HTML standard, section 9.2.6). `onBytes` is called for every chunk,
 * because a ping is a comment, which is no event. An unfinished event at the end of the stream is dropped. Throws
 * when an event is longer than 16 Mi characters.
 */
export async function* readSse(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<SseEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let fields: Record<string, string> = {};
  let half = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      const text = decoder.decode(value, { stream: true });
      rest += text;
      // A long line is searched once, not again with each of its chunks.
      if (half || /[\r\n]/.test(text)) {
        // A CR at the end of the chunk may be the first half of a CRLF.
        const lines = rest.split(/\r\n|\n|\r(?!$)/);
        rest = lines.pop() as string;
        half = rest.endsWith('\r');
        for (const line of lines) {
          if (!line) {
            const { event, data, id } = fields;
            if (data !== undefined) yield { event: event || 'message', data, id };
            fields = {};
            continue;
          }
          const [, field, content] = /^([^:]*):? ?(.*)/s.exec(line) as unknown as [string, string, string];
          if (field === 'data' && 'data' in fields) fields.data += `\n${content}`;
          else if (field !== 'id' || !content.includes('\0')) fields[field] = content;
        }
      }
      if ((rest + fields.data).length > maxEvent) throw Error('event too long');
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
