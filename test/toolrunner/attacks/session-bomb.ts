import { expect } from 'vitest';
import { attack } from './host.ts';

/** Each session has its own share of the processors (autogroups), however low the priority of its processes. */
export const SESSION_BOMB = attack(
  'a fork bomb that leaves its session',
  'while True:\n    try:\n        if os.fork() == 0: os.setsid()\n    except OSError: pass',
  { expect: ({ error }) => expect(error).not.toBeNull() },
);
