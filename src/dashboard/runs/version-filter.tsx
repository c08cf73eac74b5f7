import { Button } from '@mantine/core';
import type { useFilters } from '../ui/filters.ts';

/** Shows that a list contains the runs of one version only, and removes this filter. */
export function VersionFilter({ wanted: { filters, set } }: { wanted: Pick<ReturnType<typeof useFilters>, 'filters' | 'set'> }) {
  if (!filters.version) return null;
  return (
    <Button variant="default" onClick={() => set('version', '')}>
      Version {filters.version} only ✕
    </Button>
  );
}
