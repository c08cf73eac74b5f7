import { formatRunCost } from '../ui/figures.ts';

/** Shows the cost of a run, as far as its models have a price. */
export function RunCost({ usage }: { usage: Parameters<typeof formatRunCost>[0] }) {
  const text = formatRunCost(usage);
  return usage.priced === false ? <span title="The provider has no price for a model of this run">{text}</span> : text;
}
