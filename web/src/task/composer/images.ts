import { maxMessage, maxPrompt } from '@bellhop/client';
import type { ImageFile } from './queue.ts';

export const acceptedImages = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const maxImages = 6;
const maxImageBytes = 5 << 20;
/** Characters of base64 that fit into a prompt in addition to its text. */
const maxBase64 = maxPrompt - maxMessage;
const maxBase64Text = `${Math.floor((maxBase64 * 3) / 4 / 2 ** 20)} MiB`;

/** The images of a paste or a drop. */
export function imagesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter((f) => f.type.startsWith('image/'));
}

/** Reads images as data: URLs. `refused` is the reason why one of them cannot be sent, or "". */
export async function readImages(
  files: readonly File[],
  already: readonly ImageFile[],
): Promise<{ images: ImageFile[]; refused: string }> {
  const images: ImageFile[] = [];
  let refused = '';
  let used = already.reduce((sum, { url }) => sum + url.length, 0);
  for (const file of files) {
    if (!acceptedImages.includes(file.type)) refused = `${file.name} is no PNG, JPEG, GIF or WebP image`;
    else if (file.size > maxImageBytes) refused = `${file.name} is larger than 5 MiB`;
    else if (already.length + images.length >= maxImages) refused = `At most ${maxImages} images go with a message`;
    else {
      const url = await dataUrl(file);
      used += url.length;
      if (used > maxBase64) {
        used -= url.length;
        refused = `${file.name} does not fit: the images of a message may have ${maxBase64Text} in all`;
      } else images.push({ name: file.name || 'image', mediaType: file.type, url });
    }
  }
  return { images, refused };
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(typeof reader.result === 'string' ? reader.result : '');
    reader.onerror = () => reject(reader.error ?? new Error('The file could not be read'));
    reader.readAsDataURL(file);
  });
}
