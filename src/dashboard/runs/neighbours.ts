/** Returns the neighbours of a run among those that wait, the oldest first. A run that does not wait is before all of them. */
export function findNeighbours(ids: readonly string[], id: string) {
  const at = ids.indexOf(id);
  return { at, previous: at > 0 ? ids[at - 1] : undefined, next: ids[at + 1] };
}
