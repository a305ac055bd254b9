/** A path that is being typed behind an "@", at the caret. */
export interface Mention {
  /** Where the "@" is. */
  start: number;
  end: number;
  query: string;
}

/** The mention at the caret. An "@" inside a word, as in an address, begins none. */
export function mentionAt(text: string, caret: number): Mention | null {
  const found = /(?:^|[\s(])@([^\s@"]*|"[^"\n]*)$/.exec(text.slice(0, caret));
  if (!found) return null;
  const query = found[1] ?? '';
  return { start: caret - query.length - 1, end: caret, query: query.replace(/^"/, '') };
}

/** The slash command that is being typed at the beginning of a message, up to the caret. */
export function commandAt(text: string, caret: number): Mention | null {
  const found = /^\/(\S*)$/.exec(text.slice(0, caret));
  return found ? { start: 0, end: caret, query: found[1] ?? '' } : null;
}

/** The text with the command in place of its typed letters, and where the caret goes. */
export function completedCommand(text: string, { end }: Mention, name: string): { text: string; caret: number } {
  const rest = text.slice(end).replace(/^\S*[^\S\n]?/, '');
  const inserted = `/${name} `;
  return { text: inserted + rest, caret: inserted.length };
}

/** The text with the path in place of the mention, and where the caret goes. A directory can be typed on. */
export function completed(text: string, { start, end }: Mention, path: string): { text: string; caret: number } {
  const isDirectory = path.endsWith('/');
  const quoted = /[\s"]/.test(path) ? `"${path}${isDirectory ? '' : '"'}` : path;
  const rest = text.slice(end);
  const inserted = `@${quoted}${isDirectory || /^\s/.test(rest) ? '' : ' '}`;
  return { text: text.slice(0, start) + inserted + rest, caret: start + inserted.length };
}
