import { useEffect, useRef, useState } from 'react';

/** A page that is this close to its end counts as being there: sizes are fractions of a pixel. */
const NEAR_PX = 4;

const distanceToEnd = () => document.documentElement.scrollHeight - window.innerHeight - window.scrollY;
const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight });

/**
 * Keeps the end of the page in sight while the page grows, until the reader scrolls up; it resumes when the reader is at the
 * end again. `show` leads there.
 */
export function useNewest(): { at_end: boolean; show(): void } {
  const [at_end, setAtEnd] = useState(true);
  const follows = useRef(true);
  useEffect(() => {
    const unmount = new AbortController();
    let last = window.scrollY;
    const onScroll = () => {
      const moved_up = window.scrollY < last;
      last = window.scrollY;
      if (distanceToEnd() <= NEAR_PX) follows.current = true;
      else if (moved_up) follows.current = false;
      setAtEnd(follows.current);
    };
    window.addEventListener('scroll', onScroll, { passive: true, signal: unmount.signal });
    const sizes = new ResizeObserver(() => {
      if (follows.current) toEnd();
    });
    sizes.observe(document.body);
    return () => {
      unmount.abort();
      sizes.disconnect();
    };
  }, []);
  const show = () => {
    follows.current = true;
    setAtEnd(true);
    toEnd();
  };
  return { at_end, show };
}
