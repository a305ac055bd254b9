const prefix = 'bellhop.';

/** Storage may be full or forbidden; settings then last as long as the page. */
const volatile = new Map<string, string>();

export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(prefix + name) ?? volatile.get(name) ?? null;
  } catch {
    return volatile.get(name) ?? null;
  }
}

export function writeSetting(name: string, value: string | null) {
  if (value === null) volatile.delete(name);
  else volatile.set(name, value);
  try {
    if (value === null) localStorage.removeItem(prefix + name);
    else localStorage.setItem(prefix + name, value);
  } catch {
    // Kept in memory.
  }
}
