import { isUuid } from '../../domain/uuid.ts';

/** Returns a finder that reads each record once; it finds null for what is not an id. */
export function findOnce<T>(find: (id: string) => Promise<T | null>): (id: string) => Promise<T | null> {
  const found = new Map<string, Promise<T | null>>();
  return (id) => {
    if (!found.has(id)) found.set(id, isUuid(id) ? find(id) : Promise.resolve(null));
    return found.get(id)!;
  };
}
