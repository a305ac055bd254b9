import type { TemplateVariable } from '@bellhop/client';

const use = /\{\{\s*([A-Za-z][A-Za-z0-9_]{0,39})\s*\}\}/g;

/** The variables that a prompt uses, in their order; those that are known keep their settings. */
export function usedVariables(prompt: string, known: readonly TemplateVariable[]): TemplateVariable[] {
  const names = new Set([...prompt.matchAll(use)].map((match) => match[1] ?? ''));
  return [...names].map((name) => known.find((v) => v.name === name) ?? { name });
}
