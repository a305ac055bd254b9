/**
 * Replaces bidirectional control characters, which can make code look like something else (Trojan Source,
 * CVE-2021-42574).
 */
export function escapeBidi(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '�');
}

/** Writes invisible and reordering characters as escapes, because the user decides by the visible text. */
export function spellHidden(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A file's name as it is shown: on one line, with every hidden character spelled out. */
export const spellName = (name: string) => spellHidden(name.replaceAll('\t', '\\t').replaceAll('\n', '\\n'));

/** A name in quotation marks, for a text that is not markup: its direction does not change that of the text. */
export const isolated = (name: string) => `“\u2068${escapeBidi(name)}\u2069”`;
