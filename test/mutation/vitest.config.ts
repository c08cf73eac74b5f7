import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { ROOM_VARIABLE, ROOMS, type RoomName } from './rooms.ts';

/** For Stryker: the tests of one room, which start no server. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ROOMS[process.env[ROOM_VARIABLE] as RoomName].tests,
    setupFiles: join(import.meta.dirname, 'load-room.ts'),
    // Each change gets a new process anyway.
    isolate: false,
    // Each expression is counted, on a machine that may be busy.
    testTimeout: 120_000,
  },
});
