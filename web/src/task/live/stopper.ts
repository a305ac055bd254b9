import type { ChatTransport, UIMessage } from 'ai';

/** Stops turns, also one whose message is still on its way. */
export interface Stopper {
  /** Returns the transport with its sending watched. */
  watch: <T extends ChatTransport<UIMessage>>(transport: T) => T;
  /** Records that the host has the message that was sent last, or never gets it. */
  arrived: () => void;
  stop: () => Promise<void>;
}

/**
 * Returns a stopper that calls `interrupt`. A basic host stops only a turn whose prompt it has, so for a message
 * that is on its way `interrupt` is called again when it has arrived. Otherwise its turn would run although the user
 * stopped it.
 */
export function stopper(interrupt: () => Promise<void>): Stopper {
  let sending: Promise<void> | undefined;
  let arrived: (() => void) | undefined;
  const begin = () => {
    arrived?.();
    sending = new Promise((resolve) => {
      arrived = () => {
        sending = undefined;
        resolve();
      };
    });
  };
  return {
    watch: (transport) => ({
      ...transport,
      sendMessages: async (send) => {
        begin();
        try {
          return await transport.sendMessages(send);
        } catch (error) {
          arrived?.();
          throw error;
        }
      },
    }),
    arrived: () => arrived?.(),
    stop: async () => {
      const early = sending;
      await interrupt();
      if (!early) return;
      await early;
      await interrupt();
    },
  };
}
