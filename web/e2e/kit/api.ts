/** The API of the broker. Tests compare what a page shows with what the broker stores. */
export class Api {
  constructor(
    readonly broker: string,
    private readonly token: string,
    /** Creates an agent's token with the command line: a token cannot create another one. */
    readonly agentToken: (agent: string) => Promise<string> = () =>
      Promise.reject(new Error("not the world's own token")),
  ) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.broker + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** The same broker for another token. */
  as(token: string): Api {
    return new Api(this.broker, token);
  }

  newTask(title: string, more: { hostId?: string; agent?: string; project?: string } = {}): Promise<Task> {
    return this.call<Task>('POST', '/api/tasks', { title, ...more });
  }

  task(id: string): Promise<Task> {
    return this.call<Task>('GET', `/api/tasks/${id}`);
  }

  async messages(id: string): Promise<Message[]> {
    return (await this.call<{ messages: Message[] }>('GET', `/api/tasks/${id}/messages?limit=500`)).messages;
  }

  /** Returns the agent's messages as the broker stores them. */
  async answer(id: string): Promise<string> {
    const kept = await this.messages(id);
    return kept
      .filter((m) => m.role === 'ASSISTANT')
      .map((m) => m.message)
      .join('');
  }

  async interactions(taskId: string): Promise<Interaction[]> {
    const { interactions } = await this.call<{ interactions: Interaction[] }>('GET', '/api/interactions?state=open');
    return interactions.filter((i) => i.taskId === taskId);
  }

  /** Sends a prompt without reading its stream. */
  async prompt(taskId: string, message: string): Promise<void> {
    await (await this.stream(taskId, message)).cancel();
  }

  /** Returns the milliseconds from sending a prompt to the first text of the answer. */
  async firstText(taskId: string, message: string): Promise<number> {
    const from = performance.now();
    const body = await this.stream(taskId, message);
    const decoder = new TextDecoder();
    let seen = '';
    for await (const bytes of body) {
      seen += decoder.decode(bytes, { stream: true });
      if (seen.includes('"text-delta"')) break;
    }
    return performance.now() - from;
  }

  private async stream(taskId: string, message: string): Promise<ReadableStream<Uint8Array>> {
    const checkIn = await this.call<{ streamUrl: string; streamToken: string }>('POST', '/api/agent', {
      taskId,
      message,
    });
    const stream = await fetch(checkIn.streamUrl, {
      method: 'POST',
      headers: { authorization: `Bearer ${checkIn.streamToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: message }),
    });
    if (!stream.ok || !stream.body) throw new Error(`POST ${checkIn.streamUrl}: ${stream.status}`);
    return stream.body;
  }
}

export interface Task {
  permissionMode?: string;
  archived?: boolean;
  id: string;
  agent: string;
  hostId?: string;
  project?: string;
  openTurn: string | null;
  agentStatus: string;
  lastTurn: { id: string; finishReason: string; reason: string } | null;
  queue?: { messages: number; paused?: string };
}

export interface Message {
  id: string;
  role: 'USER' | 'ASSISTANT';
  status: string;
  message: string;
  artifacts: { type: string; content: Record<string, unknown> }[];
}

export interface Interaction {
  id: string;
  taskId: string;
  kind: string;
}
