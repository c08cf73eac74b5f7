/** Known faults that are not fixed yet. A line whose fault is gone fails the test and must be deleted. */
const AWAITING: { part: string; fault: string }[] = [];

/** Returns the unexpected faults of a part of the matrix. */
export function listUnexpected(part: string, faults: string[]): string[] {
  const awaited = AWAITING.filter((entry) => entry.part === part);
  const gone = awaited.filter(({ fault }) => !faults.some((one) => one.startsWith(fault)));
  return [
    ...faults.filter((one) => !awaited.some(({ fault }) => one.startsWith(fault))),
    ...gone.map(({ fault }) => `no longer a fault: ${fault}`),
  ];
}
