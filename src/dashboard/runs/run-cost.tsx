import { formatCost } from '../ui/figures.ts';

/** Shows the cost of a run, as far as its models have a price. */
export function RunCost({ cost, priced }: { cost: number | null; priced: boolean }) {
  if (priced) return formatCost({ cost });
  const is_known = cost !== null && cost > 0;
  return (
    <span title="The provider has no price for a model of this run">
      {is_known ? `${formatCost({ cost })}, without models that have no price` : 'unknown'}
    </span>
  );
}
