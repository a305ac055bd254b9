import { useId, useRef, type KeyboardEvent, type ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { cx } from './class.ts';
import styles from './menu.module.css';

export interface MenuItem {
  label: string;
  icon?: IconName;
  danger?: boolean;
  run: () => void;
}

/** A menu of actions behind a button. It is a native popover, so Esc or a click elsewhere closes it. */
export function Menu({
  label,
  items,
  icon = <Icon name="more" />,
  onToggle,
}: {
  label: string;
  items: MenuItem[];
  icon?: ReactNode;
  onToggle?: (open: boolean) => void;
}) {
  const id = useId();
  const ref = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  const place = () => {
    const menu = ref.current;
    const at = button.current?.getBoundingClientRect();
    if (!menu || !at) return;
    const box = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(at.right - box.width, innerWidth - box.width - 8))}px`;
    const below = at.bottom + 4;
    menu.style.top = `${below + box.height > innerHeight - 8 ? Math.max(8, at.top - box.height - 4) : below}px`;
  };
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const all = [...(ref.current?.querySelectorAll('button') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    all[(at + step + all.length) % all.length]?.focus();
  };
  return (
    <>
      <IconButton ref={button} label={label} icon={icon} popoverTarget={id} aria-haspopup="menu" />
      <div
        ref={ref}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        className={styles.menu}
        onKeyDown={move}
        onToggle={(event) => {
          onToggle?.(event.newState === 'open');
          if (event.newState !== 'open') return;
          place();
          ref.current?.querySelector('button')?.focus();
        }}
      >
        {items.map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            className={cx(styles.item, item.danger && styles.danger)}
            onClick={() => {
              ref.current?.hidePopover();
              item.run();
            }}
          >
            {item.icon && <Icon name={item.icon} />}
            {item.label}
          </button>
        ))}
      </div>
    </>
  );
}
