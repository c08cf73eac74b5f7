import type { Mutant } from './mutant.ts';

/** What people read, and what is judged, in code without servers: faults that Stryker's changes led to. */
export default [
  {
    id: 'figures/full-unit',
    file: 'src/dashboard/ui/format.ts',
    text: '${seconds % 60} s',
    replacement: '${Math.round((ms % 60_000) / 1000)} s',
    harm: 'A run of 119.7 seconds is shown with 60 seconds in a minute.',
    tests: [{ file: 'test/unit/dashboard-format.test.ts', name: 'never shows a unit that is full' }],
  },
  {
    id: 'figures/tiny-sum',
    file: 'src/dashboard/ui/format.ts',
    text: "if (value < 0.000005) return '<$0.00001';",
    replacement: '',
    harm: 'A run that costs a little is shown as one that costs nothing.',
    tests: [{ file: 'test/unit/dashboard-format.test.ts', name: 'of dollars' }],
  },
  {
    id: 'figures/named-constructor',
    file: 'src/domain/outages.ts',
    text: 'Object.hasOwn(table, name) ? table[name] : undefined',
    replacement: 'table[name]',
    harm: 'An error called `constructor` counts as an outage, so what it stopped is tried again forever.',
    tests: [{ file: 'test/unit/domain/failures.test.ts', name: 'is none in' }],
  },
  {
    id: 'figures/compatible-address',
    file: 'src/egress/rules.ts',
    text: 'isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address',
    replacement: 'address',
    harm: 'The reserved address `::8.8.8.8` is judged as the public one that it only resembles.',
    tests: [{ file: 'test/unit/egress/rules.test.ts', name: 'is denied:' }],
  },
  {
    id: 'figures/hidden-neighbour',
    file: 'src/parsers/room/pii.ts',
    text: 'rest = blanked(rest, spans);',
    replacement: '',
    harm: 'A phone number that stands behind an address or a card number reaches the reader.',
    tests: [{ file: 'test/unit/guardrails/breaches.test.ts', name: 'does not hide what is next to it' }],
  },
] satisfies Mutant[];
