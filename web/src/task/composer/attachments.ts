import { maxMessage, maxPrompt } from '@bellhop/client';
import type { AttachmentKind, OfferList, Task } from '../../app/types.ts';

/** A file of a message. */
export interface AttachedFile {
  kind: AttachmentKind;
  name: string;
  mediaType: string;
  bytes: number;
  /** A data: URL. */
  url: string;
}

/** What a message's agent takes. */
export interface Taken {
  /** The agent's name, for refusals. */
  agent: string;
  kinds: readonly AttachmentKind[];
}

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const maxFiles = 6;
const maxBytes = 5 << 20;
/** Characters of base64 that fit into a prompt in addition to its text. */
const maxBase64 = maxPrompt - maxMessage;
const maxBase64Text = `${Math.floor((maxBase64 * 3) / 4 / 2 ** 20)} MiB`;

/** The words of a kind, for one file and for many. */
const words: Record<AttachmentKind, { one: string; many: string }> = {
  image: { one: 'image', many: 'images' },
  text: { one: 'text', many: 'texts' },
  pdf: { one: 'PDF', many: 'PDFs' },
};

const isKind = (kind: string): kind is AttachmentKind => Object.hasOwn(words, kind);

/** What the agent of a task takes, as its host offers it. Hosts that do not say so take images. */
export function takenBy({ hosts }: OfferList, task: Pick<Task, 'agent' | 'hostId'>): Taken {
  const offer = hosts.find((h) => h.hostId === task.hostId)?.offer;
  const agent = offer?.agents.find((a) => a.id === (task.agent || offer.defaultAgent));
  const kinds = agent?.attachments?.filter(isKind);
  return { agent: agent?.title ?? (task.agent || 'The agent'), kinds: kinds ?? ['image'] };
}

/** "images, texts and PDFs, up to 6 of 5 MiB, 8 MiB in all". */
export function limitsOf({ kinds }: Taken): string {
  const list = kinds.map((k) => words[k].many);
  const last = list.pop() ?? 'nothing';
  const all = list.length > 0 ? `${list.join(', ')} and ${last}` : last;
  return `${all}, up to ${maxFiles} of ${maxBytes >> 20} MiB, ${maxBase64Text} in all`;
}

/** The value of a file field's `accept`: "" if texts are taken, whose names end in anything. */
export function acceptOf({ kinds }: Taken): string {
  if (kinds.includes('text')) return '';
  return kinds.flatMap((k) => (k === 'image' ? imageTypes : ['application/pdf'])).join(',');
}

/** The files of a drop, or of a paste. Text that programs put beside a picture of it is pasted as text. */
export function filesOf(data: DataTransfer | null, { pasted = false } = {}): File[] {
  if (pasted && data?.types.includes('text/plain')) return [];
  return [...(data?.files ?? [])];
}

/** Reads files as data: URLs. `refused` is the reason why one of them cannot be sent, or "". */
export async function readFiles(
  files: readonly File[],
  already: readonly AttachedFile[],
  taken: Taken,
): Promise<{ read: AttachedFile[]; refused: string }> {
  const read: AttachedFile[] = [];
  let refused = '';
  let used = already.reduce((sum, { url }) => sum + url.length, 0);
  for (const file of files) {
    const found = already.length + read.length < maxFiles ? await readFile(file, taken) : tooMany;
    if (typeof found === 'string') refused = found;
    else if (used + found.url.length > maxBase64)
      refused = `${file.name} does not fit: the files of a message may have ${maxBase64Text} in all`;
    else {
      used += found.url.length;
      read.push(found);
    }
  }
  return { read, refused };
}

const tooMany = `At most ${maxFiles} files go with a message`;

/** A file, or why it is refused. */
async function readFile(file: File, { agent, kinds }: Taken): Promise<AttachedFile | string> {
  if (file.size > maxBytes) return `${file.name} is larger than ${maxBytes >> 20} MiB`;
  if (file.size === 0) return `${file.name} is empty`;
  let content: Uint8Array;
  try {
    content = await contentOf(file);
  } catch {
    return `${file.name} cannot be read. A folder cannot be attached`;
  }
  const found = kindOf(content, file.type);
  if (!found) return `${file.name} is neither an image (PNG, JPEG, GIF, WebP) nor a PDF nor a text in UTF-8`;
  if (!kinds.includes(found.kind)) return `${file.name}: ${agent} takes no ${words[found.kind].many}`;
  const url = `data:${found.mediaType};base64,${base64(content)}`;
  return { ...found, name: nameOf(file.name, words[found.kind].one), bytes: file.size, url };
}

function contentOf(file: File): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(new Uint8Array(reader.result as ArrayBuffer));
    reader.onerror = () => reject(reader.error ?? new Error('The file could not be read'));
    reader.readAsArrayBuffer(file);
  });
}

/** What a file is, by its content: a name can be wrong. */
function kindOf(content: Uint8Array, type: string): Pick<AttachedFile, 'kind' | 'mediaType'> | null {
  const start = String.fromCharCode(...content.subarray(0, 1024));
  const image = signatures.find(([pattern]) => pattern.test(start));
  if (image) return { kind: 'image', mediaType: image[1] };
  if (start.startsWith('%PDF-')) return { kind: 'pdf', mediaType: 'application/pdf' };
  // Hosts refuse SVG, which can hold programs.
  if (content.includes(0) || type.startsWith('image/') || /<svg/i.test(start)) return null;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return null;
  }
  return { kind: 'text', mediaType: /^text\/[\w.+-]+$/.test(type) ? type : 'text/plain' };
}

/** How images begin. */
const signatures: readonly [RegExp, string][] = [
  [/^.PNG\r\n.\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[\s\S]{4}WEBPVP/, 'image/webp'],
];

/** A name that hosts accept: one line, at most 255 bytes. */
function nameOf(name: string, otherwise: string): string {
  let clean = [...name].filter((char) => !/\p{Cc}/u.test(char));
  while (new TextEncoder().encode(clean.join('')).length > 255) clean = clean.slice(0, -1);
  return clean.join('') || otherwise;
}

function base64(content: Uint8Array): string {
  let text = '';
  for (let at = 0; at < content.length; at += 0x8000) text += String.fromCharCode(...content.subarray(at, at + 0x8000));
  return btoa(text);
}

/** The type of the artifacts that keep the names of a message's files in its history. */
const artifactType = 'ATTACHMENT';

/** What history keeps of a file. */
export interface KeptFile {
  name: string;
  mediaType: string;
  bytes: number;
}

export const artifactsOf = (files: readonly AttachedFile[]) =>
  files.map(({ name, mediaType, bytes }) => ({ type: artifactType, content: { name, mediaType, bytes } }));

/** The files that the artifacts of a message name. */
export function keptFiles(artifacts: readonly { type: string; content: unknown }[]): KeptFile[] {
  return artifacts.flatMap(({ type, content }) => {
    const { name, mediaType, bytes } = (content ?? {}) as Record<string, unknown>;
    if (type !== artifactType || typeof name !== 'string' || name === '') return [];
    return [{ name, mediaType: String(mediaType ?? ''), bytes: typeof bytes === 'number' ? bytes : 0 }];
  });
}

/** "12 KiB". */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
