import type { IconName } from '../../ui/icon.tsx';

export interface ToolSummary {
  icon: IconName;
  /** A verb for the tool: "Run", "Read" … or the tool's own name. */
  verb: string;
  /** The object of the call: a command, a path, a pattern. */
  target: string;
}

interface Kind {
  match: RegExp;
  icon: IconName;
  verb: string;
}

const kinds: readonly Kind[] = [
  { match: /bash|shell|command|exec|terminal|^run/i, icon: 'terminal', verb: 'Run' },
  { match: /write|create_file/i, icon: 'edit', verb: 'Write' },
  { match: /edit|patch|replace|update_file/i, icon: 'edit', verb: 'Edit' },
  { match: /^list|^ls$|list_dir|glob/i, icon: 'list', verb: 'List' },
  { match: /read|view|cat|open_file/i, icon: 'file', verb: 'Read' },
  { match: /grep|search|find/i, icon: 'search', verb: 'Search' },
  { match: /fetch|web|http|browse/i, icon: 'search', verb: 'Fetch' },
  { match: /ask|question/i, icon: 'help', verb: 'Ask' },
];

/** Input members that describe the call best, the most specific first. */
const descriptive = [
  'command',
  'cmd',
  'file_path',
  'filePath',
  'path',
  'pattern',
  'query',
  'url',
  'question',
  'prompt',
  'description',
];

export function summarise(name: string, input: unknown): ToolSummary {
  const kind = kinds.find((k) => k.match.test(name));
  return { icon: kind?.icon ?? 'gear', verb: kind?.verb ?? name, target: targetOf(input) };
}

/** The input member that describes the call best, cut to one line; '' when no member is a text. */
export function targetOf(input: unknown): string {
  if (typeof input === 'string') return firstLine(input);
  if (typeof input !== 'object' || input === null) return '';
  const members = input as Record<string, unknown>;
  for (const name of descriptive) {
    const value = members[name];
    if (typeof value === 'string' && value !== '') return firstLine(value);
    if (Array.isArray(value) && value.every((v) => typeof v === 'string')) return firstLine(value.join(' '));
  }
  const first = Object.values(members).find((v) => typeof v === 'string' && v !== '');
  return typeof first === 'string' ? firstLine(first) : '';
}

function firstLine(text: string): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** The complete command that a call runs; null when it runs none. */
export function commandOf(input: unknown): string | null {
  if (typeof input !== 'object' || input === null) return null;
  const { command, cmd } = input as { command?: unknown; cmd?: unknown };
  const value = command ?? cmd;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((v) => typeof v === 'string')) return value.join(' ');
  return null;
}

/**
 * The complete input of a call, for users: a command unchanged, other input as one argument after another, the short
 * ones first.
 */
export function argumentsOf(input: unknown): string {
  const command = commandOf(input);
  if (command !== null) return command;
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || input === null) return '';
  if (Array.isArray(input)) return JSON.stringify(input, null, 2);
  const isMultiline = (value: unknown) => typeof value === 'string' && value.includes('\n');
  const members = Object.entries(input).sort(
    ([, a], [, b]) =>
      Number(isMultiline(a)) - Number(isMultiline(b)) ||
      (typeof a === 'string' && typeof b === 'string' ? a.length - b.length : 0),
  );
  return members
    .map(([name, value]) =>
      isMultiline(value)
        ? `${name}:\n${String(value)}`
        : `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    .join('\n');
}
