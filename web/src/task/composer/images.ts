import type { ImageFile } from './queue.ts';

const accepted = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const most = 6;
const largest = 5 << 20;

/** The images of a paste or a drop. */
export function imagesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter((f) => f.type.startsWith('image/'));
}

/** Reads images as data: URLs; what cannot be sent is refused with a reason. */
export async function readImages(files: readonly File[], already: readonly ImageFile[]): Promise<{ images: ImageFile[]; refused: string }> {
  const images: ImageFile[] = [];
  let refused = '';
  for (const file of files) {
    if (!accepted.includes(file.type)) refused = `${file.name} is no PNG, JPEG, GIF or WebP image`;
    else if (file.size > largest) refused = `${file.name} is larger than 5 MiB`;
    else if (already.length + images.length >= most) refused = `At most ${most} images go with a message`;
    else images.push({ name: file.name || 'image', mediaType: file.type, url: await dataUrl(file) });
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
