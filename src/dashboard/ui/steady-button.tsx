import type { ComponentProps, MouseEvent } from 'react';

type SteadyProps = ComponentProps<'button'> & { 'data-loading'?: boolean };

const refuse = (event: MouseEvent) => event.preventDefault();

/** The element of every button. While busy it ignores clicks but keeps the focus, which a disabled button would lose. */
export function SteadyButton({ disabled = false, onClick, type = 'button', ...props }: SteadyProps) {
  const busy = props['data-loading'] === true;
  return (
    <button
      {...props}
      type={type}
      disabled={disabled && !busy}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={busy ? refuse : onClick}
    />
  );
}
