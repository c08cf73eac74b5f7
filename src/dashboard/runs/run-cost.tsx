import { formatRunCost } from '../ui/figures.ts';

/** Shows the cost of a run, as far as its models have a price. */
export function RunCost({ usage }: { usage: Parameters<typeof formatRunCost>[0] & { estimated?: boolean | undefined } }) {
  const text = formatRunCost(usage);
  if (usage.priced === false) return <span title="The provider has no price for a model of this run">{text}</span>;
  return usage.estimated && usage.cost ? `about ${text}` : text;
}
