import { globSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

interface Room {
  /** The code that is changed. Patterns from the root. */
  files: string[];
  /** The tests that must notice it. */
  tests: string[];
}

/** Code whose tests need no server, so that every expression of it can be changed and tested. */
export const ROOMS = {
  domain: {
    files: ['src/domain/*.ts'],
    tests: [
      'test/unit/domain/*.test.ts',
      'test/unit/{cadence,chunks,destinations,hosts,normalise,redaction,run-loop,shorter,sizes}.test.ts',
    ],
  },
  guardrails: {
    files: ['src/guardrails/*.ts', 'src/parsers/child/{guardrail-checks,patterns,pii}.ts'],
    tests: ['test/unit/guardrails/*.test.ts'],
  },
  contracts: { files: ['src/contracts/*.ts'], tests: ['test/unit/contracts/*.test.ts'] },
  egress: {
    files: ['src/egress/{rules,redirects,counted-fetch,places}.ts'],
    tests: ['test/unit/egress/{rules,redirects,counted-fetch,places}.test.ts'],
  },
  webhooks: { files: ['src/egress/webhook-sender.ts'], tests: ['test/unit/egress/webhook-sender.test.ts'] },
  dashboard: {
    files: ['src/dashboard/ui/{figures,json}.ts', 'src/dashboard/runs/run-state.ts'],
    tests: ['test/unit/{figures,json,run-state,dashboard-run-state}.test.ts'],
  },
} satisfies Record<string, Room>;
export type RoomName = keyof typeof ROOMS;

export const roomNames = Object.keys(ROOMS) as RoomName[];

export const filesOf = (room: RoomName): string[] => globSync([...ROOMS[room].files], { cwd: ROOT }).sort();

/** The least share of changes that the tests of a room must notice, in percent. */
export const LEAST = 85;

/** Names the room to the processes that run its tests. */
export const ROOM_VARIABLE = 'MUTATED_ROOM';
