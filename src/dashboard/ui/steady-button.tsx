import type { ComponentProps, MouseEvent } from 'react';

type SteadyProps = ComponentProps<'button'> & { 'data-loading'?: boolean };

const refuse = (event: MouseEvent) => event.preventDefault();

/** What every button is made of. While it is busy it does nothing, but keeps the focus, which one that is disabled would lose. */
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
