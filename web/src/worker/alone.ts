/**
 * Shows or lists notifications while no other page and no service worker of the console does. Chromium drops a
 * notification that is being shown while another call lists them.
 */
export const alone = async <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks.request('bellhop-notifications', work);
