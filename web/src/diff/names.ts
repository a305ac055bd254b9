const letters: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

/**
 * The path of a name in a patch of git, as the list of files has it: an element that is not UTF-8 or has a control character is
 * quoted, and so is one that reads like a quoted element.
 */
export function pathInPatch(name: string): string {
  const path = unquote(name) ?? new TextEncoder().encode(name);
  const elements: string[] = [];
  for (let from = 0; from <= path.length; ) {
    const slash = path.indexOf(0x2f, from);
    const to = slash < 0 ? path.length : slash;
    const element = path.subarray(from, to);
    elements.push(textOf(element) ?? quote(element));
    from = to + 1;
  }
  return elements.join('/');
}

/** The bytes of a name that git has quoted as in C ("\303\244.txt"); undefined for a text that is no such name. */
function unquote(text: string): Uint8Array | undefined {
  const inside = /^"((?:[^"\\]|\\[0-3][0-7]{2}|\\[abtnvfr"\\])*)"$/su.exec(text)?.[1];
  if (inside === undefined) return undefined;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [part, octal, letter] of inside.matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gsu)) {
    if (octal) bytes.push(Number.parseInt(octal, 8));
    else if (letter) bytes.push(letters[letter] ?? 0);
    else bytes.push(...encoder.encode(part));
  }
  return new Uint8Array(bytes);
}

/** The name as a text; undefined if it must be quoted. */
function textOf(name: Uint8Array): string | undefined {
  const text = decode(name);
  if (text === undefined || /\p{Cc}/u.test(text)) return undefined;
  const inside = unquote(text);
  const isQuoted =
    inside !== undefined && !inside.includes(0) && !inside.includes(0x2f) && textOf(inside) === undefined;
  return isQuoted ? undefined : text;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function quote(name: Uint8Array): string {
  let out = '"';
  for (let at = 0; at < name.length; ) {
    const byte = name[at] ?? 0;
    const letter = Object.keys(letters).find((l) => letters[l] === byte);
    const size = [1, 2, 3, 4].find((n) => at + n <= name.length && decode(name.subarray(at, at + n)) !== undefined);
    const char = size === undefined ? undefined : decode(name.subarray(at, at + size));
    const end = at + (size ?? 1);
    if (letter !== undefined) out += `\\${letter}`;
    else if (char !== undefined && !/\p{Cc}/u.test(char)) out += char;
    else for (const b of name.subarray(at, end)) out += `\\${b.toString(8).padStart(3, '0')}`;
    at = end;
  }
  return `${out}"`;
}
