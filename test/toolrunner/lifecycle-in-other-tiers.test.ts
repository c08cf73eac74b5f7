import { afterEach } from 'vitest';
import { cleanUp, testKilledServices, testSandboxes } from './lifecycle-cases.ts';
import { OTHER_TIERS } from './support.ts';

afterEach(cleanUp);

testKilledServices({ process: { isolation: 'none' }, ...OTHER_TIERS });
testSandboxes(OTHER_TIERS);
