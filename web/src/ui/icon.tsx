import type { ReactNode } from 'react';

const paths = {
  plus: 'M8 3v10M3 8h10',
  inbox:
    'M2.5 9.5 4.2 3.6a1 1 0 0 1 1-.8h5.6a1 1 0 0 1 1 .8l1.7 5.9v2.7a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1V9.5Zm0 0h3.3c.3 1.2 1.1 1.8 2.2 1.8s1.9-.6 2.2-1.8h3.3',
  book: 'M3 3.2c1.8-.5 3.5-.3 5 .7 1.500-1 3.200-1.200 5-.7v9.500c-1.800-.5-3.500-.3-5 .7-1.500-1-3.200-1.200-5-.7V3.200Zm5 .7v9.500',
  send: 'M8 13V3M3.800 7.200 8 3l4.200 4.200',
  stop: 'M4.500 4.500h7v7h-7z',
  host: 'M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.01M5 11h.01',
  pulse: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  key: 'M10.200 9a3.200 3.200 0 1 0-3-2.200L2.500 11.500v2h2v-1.500H6v-1.500h1.500L8.800 9c.4.1.9.1 1.400 0ZM11 5.500h.01',
  gear: 'M8 10.200a2.200 2.200 0 1 0 0-4.400 2.200 2.200 0 0 0 0 4.400ZM8 1.800v1.700M8 12.500v1.700M1.800 8h1.700M12.500 8h1.700M3.600 3.600l1.200 1.200M11.200 11.200l1.200 1.200M3.600 12.400l1.200-1.200M11.200 4.800l1.200-1.200',
  back: 'M10 3 5 8l5 5',
  down: 'M3.500 6 8 10.500 12.500 6',
  up: 'm4 10 4-4 4 4',
  right: 'M6 3.500 10.500 8 6 12.500',
  more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3 8.500 3.200 3.200L13 5',
  copy: 'M6 6h7v7H6zM3 10V3h7',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.600-1.400L14 14',
  archive: 'M2.500 3h11v3h-11zM3.500 6v7h9V6M6.500 8.500h3',
  trash: 'M3 4.500h10M6.500 4.500V3h3v1.500M4.500 4.500l.6 8.500h5.800l.6-8.500',
  edit: 'm3 13 .6-2.800L10.500 3.300l2.200 2.200-6.900 6.900L3 13Z',
  terminal: 'm3 4.500 3.500 3.500L3 11.500M8 12h5',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  clip: 'm12.500 7.500-4.800 4.800a3 3 0 0 1-4.200-4.200l5-5a2 2 0 0 1 2.800 2.800L6.500 10.700a.9.9 0 0 1-1.300-1.300L9.500 5',
  out: 'M6 13H3V3h3M10.500 11 13.500 8l-3-3M13.500 8H6',
  help: 'M6 6a2 2 0 1 1 2.600 1.900c-.4.200-.6.500-.6.900v.7M8 12h.01',
  bell: 'M4.500 10.500V7a3.500 3.500 0 0 1 7 0v3.500l1 1.500h-9l1-1.500ZM6.800 14h2.400',
  truck:
    'M1.500 4h8v7h-8zM9.500 6.500h2.700l2.300 2.500v2h-5M4.500 13a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3ZM12 13a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3Z',
  warn: 'M8 2.500 14.500 13.500h-13L8 2.500ZM8 6.500v3.500M8 12h.01',
  retry: 'M13 8a5 5 0 1 1-1.500-3.600M13 2.500v3h-3',
  branch:
    'M5 5.5v5M5 2.500a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3ZM5 10.500a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3ZM11 3.500a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3ZM11 6.500c0 2-1.500 2.500-6 2.500',
  diff: 'M5 3v6M2 6h6M9 12h5',
  user: 'M8 8a2.800 2.800 0 1 0 0-5.600A2.800 2.800 0 0 0 8 8ZM2.800 13.500c.6-2.400 2.600-3.700 5.200-3.700s4.600 1.300 5.200 3.700',
  list: 'M5.500 4h8M5.500 8h8M5.500 12h8M2.500 4h.01M2.500 8h.01M2.500 12h.01',
} as const;

export type IconName = keyof typeof paths;

export function Icon({
  name,
  size = 16,
  className,
}: {
  name: IconName;
  size?: number;
  className?: string | undefined;
}): ReactNode {
  return (
    <svg
      className={className}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}

export function Bell({ className }: { className?: string | undefined }) {
  return (
    <svg className={className} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#2b4fc4" />
      <path d="M16 9a9 9 0 0 0-9 9v1h18v-1a9 9 0 0 0-9-9Z" fill="#fff" />
      <rect x="5" y="21" width="22" height="3" rx="1.5" fill="#fff" />
      <circle cx="16" cy="6.8" r="1.8" fill="#fff" />
    </svg>
  );
}
