import type { ReactNode } from 'react';

/** A box that scrolls, by keyboard too. Its role is group, not a landmark, because a page can have many. */
export function ScrollBox({ label, className, children }: { label: string; className: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div role="group" tabIndex={0} aria-label={label} className={className}>
      {children}
    </div>
  );
}
