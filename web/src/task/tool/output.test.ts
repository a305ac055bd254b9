import { describe, expect, it } from 'vitest';
import { exitCode, outputText } from './output.ts';

describe('the output of a command', () => {
  it.each([
    ['Claude Code', 'Exit code 3\noops', 3],
    ['Claude Code, without output', 'Exit code 127', 127],
    ['Codex', { exitCode: 3, output: 'oops\n' }, 3],
    ['Codex, as the text of an error', '{"exitCode":3,"output":"oops"}', 3],
    ['OpenCode', { exit: 0, output: '' }, 0],
    ['another member', { exit_code: -1 }, -1],
  ])('has an exit code: %s', (_, output, code) => expect(exitCode(output)).toBe(code));

  it.each([
    ['a text', 'see Exit code 3'],
    ['a code that is no number', { exit: '3' }],
    ['broken', '{"exitCode":3'],
    ['nothing', null],
  ])('has none: %s', (_, output) => expect(exitCode(output)).toBeUndefined());

  it('ends with a code that is not 0', () => {
    expect(outputText({ exit: 3, output: 'oops' })).toBe('oops\nexit code 3');
    expect(outputText({ exit: 0, output: 'fine' })).toBe('fine');
  });
});
