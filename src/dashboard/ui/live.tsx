import { useEffect } from 'react';

/** Has screen readers say a text when it changes; the element lives beside the app, so that navigation does not end it. */
export function useLiveText(text: string): void {
  useEffect(() => {
    const region = document.getElementById('live-region');
    if (region) region.textContent = text;
  }, [text]);
}

export function LiveRegion() {
  return <div id="live-region" className="visually-hidden" aria-live="polite" role="status" />;
}
