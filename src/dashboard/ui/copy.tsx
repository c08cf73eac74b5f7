import { type ReactNode, useEffect, useState } from 'react';

const SHOWN_MS = 2_000;

interface CopyProps {
  text: string;
  /** The name of the copied text, for screen readers. */
  what: string;
  /** The text of the button. */
  label?: string;
}

/** Copies a text to the clipboard and shows whether that worked. */
export function Copy({ text, what, label }: CopyProps) {
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null);
  useEffect(() => {
    if (!outcome) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () => write(text).then((is_copied) => setOutcome(is_copied ? 'copied' : 'failed'));
  return (
    <button
      type="button"
      className="copy"
      aria-label={label ?? `Copy ${what}`}
      title={`Copy ${what}`}
      onClick={() => void copy()}
    >
      {outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Not copied' : (label ?? 'Copy')}
    </button>
  );
}

/**
 * Writes a text to the clipboard. Browsers offer the clipboard API only on secure origins. Elsewhere, `execCommand` copies a
 * selected field.
 */
async function write(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    const is_copied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (is_copied) return true;
  }
  const focused = document.activeElement as HTMLElement | null;
  const field = Object.assign(document.createElement('textarea'), { value: text });
  // A dialog traps the focus, so a field outside it could not be selected.
  (focused?.closest('[role="dialog"]') ?? document.body).append(field);
  field.select();
  const is_copied = document.execCommand('copy');
  field.remove();
  focused?.focus();
  return is_copied;
}

/** An identifier with a copy button. */
export function CopyableId({ children, what = 'the id' }: { children: string; what?: string }) {
  return (
    <span className="id">
      <span className="mono">{children}</span>
      <Copy text={children} what={what} />
    </span>
  );
}

/** A block of code with a copy button. */
export function Copyable({ text, what, children }: CopyProps & { children: ReactNode }) {
  return (
    <div className="copyable">
      {children}
      <Copy text={text} what={what} />
    </div>
  );
}
