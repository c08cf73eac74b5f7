import { useEffect, useRef, useState } from 'react';

/** Returns whether an element has been in sight, or at most a screen away. */
export function useSeen<E extends Element>() {
  const element = useRef<E>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (seen) return;
    const onSight: IntersectionObserverCallback = (entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    };
    const sight = new IntersectionObserver(onSight, { rootMargin: '100%' });
    sight.observe(element.current!);
    return () => sight.disconnect();
  }, [seen]);
  return [element, seen] as const;
}
