/** The mark of Perdura: one line that is a P and holds itself, as a hitch does. `public/favicon.svg` has the same path. */
export function BrandMark({ size = 24 }: { size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden>
      <rect width="32" height="32" rx="8" />
      <path d="M12 26.5V12.5a6.5 6.5 0 1 1 6.5 6.5h-2.8M8.3 19H6.5" />
    </svg>
  );
}
