/** The output of a tool as text. The streams of a command come before its other members. */
export function outputText(output: unknown): string {
  if (output === undefined || output === null) return '';
  if (typeof output === 'string') return output;
  if (typeof output !== 'object') return String(output);
  const { stdout, stderr, output: inner, content, text, exitCode, exit_code: exit } = output as Record<string, unknown>;
  const pieces = [stdout, stderr, inner, content, text].filter((p): p is string => typeof p === 'string' && p !== '');
  if (pieces.length === 0) return JSON.stringify(output, null, 2);
  const code = exitCode ?? exit;
  if (typeof code === 'number' && code !== 0) pieces.push(`exit code ${code}`);
  return pieces.join('\n');
}
