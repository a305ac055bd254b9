/**
 * Replaces bidirectional control characters, which can make code look like something else (Trojan Source,
 * CVE-2021-42574).
 */
export function escapeBidi(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '�');
}
