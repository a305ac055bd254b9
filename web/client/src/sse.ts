export interface SseEvent {
  event: string;
  data: string;
  /**
   * The id of this frame alone. EventSource's lastEventId would keep the last one, but some frames of a replay have
   * none.
   */
  id: string | undefined;
}

/**
 * Reads server-sent events from a fetch body (HTML standard, section 9.2.6). `onBytes` is called for every chunk,
 * because a ping is a comment, which is no event. An unfinished event at the end of the stream is dropped.
 */
export async function* readSse(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<SseEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let fields: Record<string, string> = {};
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      rest += decoder.decode(value, { stream: true });
      // A CR at the end of the chunk may be the first half of a CRLF.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
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
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
