export interface SseEvent {
  event: string;
  data: string;
  /** The newest id so far, as in the HTML standard: a frame without one keeps its predecessor's. */
  id: string | undefined;
  /** Whether this very frame carried an id. */
  hasId: boolean;
}

/**
 * Reads server-sent events from a fetch body (HTML standard, section 9.2.6). `onBytes` is called for every chunk: a ping
 * comment is life too, and no parser shows it. An unfinished event at the end of the stream is dropped.
 */
export async function* readSse(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<SseEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  let event = '';
  let id: string | undefined;
  let hasId = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      rest += decoder.decode(value, { stream: true });
      // A CR at the end may be half of a CRLF.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id, hasId };
          data = [];
          event = '';
          hasId = false;
          continue;
        }
        const [, field, content = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
        if (field === 'data') data.push(content);
        else if (field === 'event') event = content;
        else if (field === 'id' && !content.includes('\0')) {
          id = content;
          hasId = true;
        }
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
