type VendorEffort = 'low' | 'medium' | 'high';

/**
 * Returns the effort as Anthropic names it; undefined: the model does not think. The vendor takes further words, which its types lag
 * behind; it refuses those that a model does not take.
 */
export function toVendorEffort(effort: string | null): VendorEffort | undefined {
  if (effort === null || effort === 'none') return undefined;
  return (effort === 'minimal' ? 'low' : effort) as VendorEffort;
}
