/** Faults that are known and not yet mended. A line whose fault is gone fails the test: take it out. */
const AWAITING: { part: string; fault: string }[] = [];

/** The faults of a part of the matrix that nobody waits for. */
export function settled(part: string, faults: string[]): string[] {
  const awaited = AWAITING.filter((entry) => entry.part === part);
  const gone = awaited.filter(({ fault }) => !faults.some((one) => one.startsWith(fault)));
  return [
    ...faults.filter((one) => !awaited.some(({ fault }) => one.startsWith(fault))),
    ...gone.map(({ fault }) => `no longer a fault: ${fault}`),
  ];
}
