import { testCalls } from './calls-cases.ts';
import { OTHER_TIERS } from './support.ts';

testCalls(OTHER_TIERS);
