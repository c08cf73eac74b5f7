import type { ComponentProps, MouseEvent } from 'react';
import type { Scope } from '../../domain/access.ts';
import { useRefusal } from '../api/may.ts';

type SteadyProps = ComponentProps<'button'> & { 'data-loading'?: boolean; 'data-needs'?: Scope | undefined };

const refuse = (event: MouseEvent) => event.preventDefault();

/** The element of every button. `data-needs` disables it for those who do not have the scope, with the reason as its title. */
export function SteadyButton({ 'data-needs': needs, ...props }: SteadyProps) {
  return needs && needs !== 'read' ? <NeedingButton needs={needs} {...props} /> : <PlainButton {...props} />;
}

function NeedingButton({ needs, ...props }: SteadyProps & { needs: Scope }) {
  const refusal = useRefusal(needs);
  return refusal ? <PlainButton {...props} disabled title={refusal} /> : <PlainButton {...props} />;
}

/** A button that ignores clicks while busy but keeps the focus, which a disabled button would lose. */
function PlainButton({ disabled = false, onClick, type = 'button', ...props }: SteadyProps) {
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
