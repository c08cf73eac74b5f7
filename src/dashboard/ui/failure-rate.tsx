import { formatNumber, formatShare } from './figures.ts';

/** The share of failures from which it is many. */
const MANY = 0.1;

/** A count of failures and its share of all, with a bar and a colour from some to many. */
export function FailureRate({ failed, of }: { failed: number; of: number }) {
  const part = of === 0 ? 0 : failed / of;
  const tone = part === 0 ? 'quiet' : part < MANY ? 'wait' : 'bad';
  return (
    <span className="rate" data-tone={tone}>
      {`${formatNumber(failed)} (${formatShare(failed, of)})`}
      <span className="rate-bar" aria-hidden>
        <span style={{ width: `${Math.round(part * 100)}%` }} />
      </span>
    </span>
  );
}
