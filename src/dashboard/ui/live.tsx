import { useEffect } from 'react';

/** Announces a text to screen readers when it changes. The live region is outside the screens, so navigation does not remove it. */
export function useLiveText(text: string): void {
  useEffect(() => {
    document.getElementById('live-region')!.textContent = text;
  }, [text]);
}

export function LiveRegion() {
  return <div id="live-region" className="visually-hidden" aria-live="polite" role="status" />;
}
