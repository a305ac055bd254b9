/** Shapes of protocol section 3. */
export type SessionStatus = 'active' | 'expired' | 'disconnected';

export interface AgentSession {
  id: string;
  agentName: string;
  agentIdentifier: string;
  status: SessionStatus;
  webhookUrl?: string;
  lastActivity: string;
  createdAt: string;
}

export interface Notebook {
  id: string;
  title: string;
  description: string;
  agentName: string;
  agentIcon: string;
  agentSessionId: string;
  agentStatus: SessionStatus;
  isAgentNotebook: boolean;
  createdAt: string;
}

export interface Diagnostic {
  line: number;
  column: number;
  message: string;
  severity: string;
}

export interface Verification {
  language: string;
  verdict: 'verified' | 'failed' | 'unsupported';
  tool: string;
  toolVersion: string;
  diagnostics: Diagnostic[];
  verifiedAt: string;
  digest: string;
}

export interface Source {
  id: string;
  notebookId: string;
  title: string;
  type: string;
  content: string;
  contentOmitted?: boolean;
  version: number;
  metadata: {
    language: string;
    isVerified: boolean;
    verification: Verification | null;
    verifiedAt: string | null;
    agentSessionId: string;
    agentName: string;
    agentStatus: SessionStatus;
    originalContext: string;
  };
}

export interface SourceVersion {
  version: number;
  content: string;
  contentOmitted?: boolean;
  diff: string;
  description: string;
  author: string;
  verification: Verification | null;
  createdAt: string;
}

export interface FollowupMessage {
  id: string;
  role: 'user' | 'agent';
  content: string;
  timestamp: string;
  metadata: {
    delivered: boolean;
    read: boolean;
    inReplyTo?: string;
    failure?: string;
    codeModification?: { version: number; description: string; diff: string };
  };
}

export interface Conversation {
  sourceId: string;
  agentSessionId: string;
  lastMessageAt: string | null;
  messages: FollowupMessage[];
}
