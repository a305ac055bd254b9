/** A file of the workspace, as the files pane names it. */
export interface WorkspaceFile {
  path: string;
  line?: number;
}

/** Tools of these names take one file; others may name a directory or a pattern. */
const takesFile = /read|write|edit|view|cat|create_file|open_file|update_file|replace|patch|file_change/i;
const takesOther = /list|glob|grep|search|find|bash|shell|command|exec|terminal|^run|fetch|web|http/i;

const members = ['file_path', 'filePath', 'absolute_path', 'path'];
const lineMembers = ['line', 'start_line', 'startLine'];

/**
 * The file of the workspace that a tool call names; null if it names none, or one outside of the workspace. dir is the
 * directory in which the agent works, '' while it is unknown: absolute paths then lead nowhere.
 */
export function fileOfCall(name: string, input: unknown, dir: string): WorkspaceFile | null {
  if (!takesFile.test(name) || takesOther.test(name)) return null;
  const named = inputOf(input);
  const value = members.map((m) => named[m]).find((v): v is string => typeof v === 'string' && v !== '');
  if (value === undefined) return null;
  const file = workspaceFile(value, dir);
  // Claude Code calls the first line that it reads an offset; others count offsets from 0.
  const lines = [...lineMembers.map((m) => named[m]), named.file_path !== undefined && named.offset];
  const line = lines.find((n): n is number => typeof n === 'number' && Number.isInteger(n) && n > 0);
  return file && file.line === undefined && line !== undefined ? { ...file, line } : file;
}

/** The members of an input, or of its only change. */
function inputOf(input: unknown): Record<string, unknown> {
  if (typeof input !== 'object' || input === null) return {};
  const { changes } = input as { changes?: unknown };
  const [only, ...others] = Array.isArray(changes) ? (changes as unknown[]) : [];
  if (typeof only === 'object' && only !== null && others.length === 0) return only as Record<string, unknown>;
  return input as Record<string, unknown>;
}

/** The longest path that is looked at; a system refuses longer ones. */
const longest = 4096;

/** The file that `path`, `path:line` or `path:line:column` names in the workspace, or null. */
export function workspaceFile(text: string, dir: string): WorkspaceFile | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no path of a file that can be shown has one.
  if (text.length > longest || /[\u0000-\u001f\u007f\\]/.test(text) || /^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    return null;
  const [, named = text, digits] = /^(.+?):(\d{1,9})(?::\d+)?$/.exec(text) ?? [];
  const relative = below(named, dir);
  if (relative === null) return null;
  const parts: string[] = [];
  for (const part of relative.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  if (parts.length === 0 || named.endsWith('/') || parts[0] === '.git') return null;
  const line = Number(digits);
  return { path: parts.join('/'), ...(line > 0 && { line }) };
}

/** A path relative to the directory; null for one elsewhere. */
function below(path: string, dir: string): string | null {
  if (path.startsWith('~')) return null;
  if (!path.startsWith('/')) return path;
  return dir.startsWith('/') && path.startsWith(`${dir.replace(/\/+$/, '')}/`)
    ? path.slice(dir.replace(/\/+$/, '').length + 1)
    : null;
}
