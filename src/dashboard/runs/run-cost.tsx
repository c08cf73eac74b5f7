import { formatCost } from '../ui/figures.ts';

/** Shows the cost of a run, as far as its models have a price. */
export function RunCost({ cost, priced }: { cost: number | null; priced: boolean }) {
  const text = formatCost({ cost, priced });
  return priced ? text : <span title="The provider has no price for a model of this run">{text}</span>;
}
