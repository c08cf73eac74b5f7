import { useEffect, useRef, useState } from 'react';

/** A page that is this close to its end counts as being there: sizes are fractions of a pixel. */
const NEAR_PX = 4;

const distanceToEnd = () => document.documentElement.scrollHeight - window.innerHeight - window.scrollY;
const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight });

export interface Newest {
  /** True if the end of the page is in sight. */
  at_end: boolean;
  /** Leads to the end, which stays in sight from then on. */
  show(): void;
  /** Leaves the page where it is, however long it becomes. */
  stay(): void;
}

/**
 * Keeps the end of the page in sight while the page grows, until the reader scrolls up; it resumes when the reader scrolls to
 * the end again.
 */
export function useNewest(): Newest {
  const [at_end, setAtEnd] = useState(true);
  const follows = useRef(true);
  useEffect(() => {
    const unmount = new AbortController();
    let last = window.scrollY;
    const onScroll = () => {
      const moved = window.scrollY - last;
      last = window.scrollY;
      if (moved < 0) follows.current = distanceToEnd() <= NEAR_PX;
      else if (moved > 0) follows.current ||= distanceToEnd() <= NEAR_PX;
      setAtEnd(follows.current || distanceToEnd() <= NEAR_PX);
    };
    window.addEventListener('scroll', onScroll, { passive: true, signal: unmount.signal });
    const sizes = new ResizeObserver(() => {
      if (follows.current) toEnd();
      // A page that becomes shorter moves by itself: that is no scrolling of the reader's.
      last = window.scrollY;
      setAtEnd(follows.current || distanceToEnd() <= NEAR_PX);
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
  const stay = () => {
    follows.current = false;
  };
  return { at_end, show, stay };
}
