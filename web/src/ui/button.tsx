import type { ButtonHTMLAttributes, Ref } from 'react';
import { cx } from './class.ts';
import styles from './button.module.css';

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  small?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ kind = 'plain', small, className, type = 'button', ...rest }: Props) {
  return <button type={type} className={cx(styles.button, styles[kind], small && styles.small, className)} {...rest} />;
}

interface IconProps extends Omit<Props, 'children'> {
  label: string;
  icon: React.ReactNode;
}

/** A button that shows only an icon; label is its name and its tooltip. */
export function IconButton({ label, icon, kind = 'quiet', className, ...rest }: IconProps) {
  return (
    <Button kind={kind} className={cx(styles.icon, className)} aria-label={label} title={label} {...rest}>
      {icon}
    </Button>
  );
}
