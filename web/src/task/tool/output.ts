/** The exit code in the output of a tool that ran a command; undefined if there is none. */
export function exitCode(output: unknown): number | undefined {
  if (typeof output === 'string') {
    const [, code] = /^Exit code (\d{1,3})(?:\n|$)/.exec(output) ?? [];
    if (code) return Number(code);
    const begins = output.startsWith('{') && output.length < 100_000;
    return begins ? exitCode(parsed(output)) : undefined;
  }
  if (typeof output !== 'object' || output === null) return undefined;
  const { exitCode: camel, exit_code: snake, exit } = output as Record<string, unknown>;
  const code = camel ?? snake ?? exit;
  return typeof code === 'number' && Number.isInteger(code) ? code : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The output of a tool as text. The streams of a command come before its other members. */
export function outputText(output: unknown): string {
  if (output === undefined || output === null) return '';
  if (typeof output === 'string') return output;
  if (typeof output !== 'object') return String(output);
  const { stdout, stderr, output: inner, content, text } = output as Record<string, unknown>;
  const pieces = [stdout, stderr, inner, content, text].filter((p): p is string => typeof p === 'string' && p !== '');
  if (pieces.length === 0) return JSON.stringify(output, null, 2);
  const code = exitCode(output);
  if (code) pieces.push(`exit code ${code}`);
  return pieces.join('\n');
}
