import { existsSync } from 'node:fs';

/** The interpreter of the machine, which every account may run. */
export const SYSTEM_PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
