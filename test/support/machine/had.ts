/**
 * Returns what `get` brings from a package registry, or null if it cannot be had on this machine, and reports how to get it. Tests
 * that need it are then skipped.
 */
export async function getOrReport<T>(what: string, get: () => Promise<T>): Promise<T | null> {
  try {
    return await get();
  } catch (error) {
    console.log(`Tests with ${what} are left out, since they need the network once: ${(error as Error).message}`);
    return null;
  }
}
