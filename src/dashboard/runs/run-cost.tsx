import { formatMoney } from '../ui/figures.ts';

/** Shows the cost of a run, as far as its models have a price. */
export function RunCost({ cost, priced }: { cost: number; priced: boolean }) {
  if (priced) return formatMoney(cost);
  return (
    <span title="The provider has no price for a model of this run">
      {cost === 0 ? 'no prices set' : `${formatMoney(cost)}, without models that have no price`}
    </span>
  );
}
