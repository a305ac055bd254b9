export type { ApprovalData, AskData, TurnMetadata } from './ui/chunk.js';
export { shouldSendAutomatically } from './ui/message.js';
export { bellhop, BellhopTransport, type BellhopOptions } from './ui/transport.js';
