import { testCommands, testRights } from './confined-cases.ts';
import { OTHER_TIERS } from './support.ts';

testCommands(OTHER_TIERS);
testRights(OTHER_TIERS);
