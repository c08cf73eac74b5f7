import { distance, localMinute, localMoment } from './format.ts';

interface WhenProps {
  at: string | null | undefined;
  none?: string;
  /** Also shows the distance from now. */
  relative?: boolean;
}

/** A local time with its zone; ISO 8601 in the title. */
export function When({ at, none = '—', relative = false }: WhenProps) {
  if (!at) return <>{none}</>;
  return (
    <time dateTime={at} title={at} className="nowrap">
      {localMinute(at)}
      {relative && ` (${distance(at)})`}
    </time>
  );
}

export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at} className="nowrap">
      {localMoment(at)}
    </time>
  );
}
