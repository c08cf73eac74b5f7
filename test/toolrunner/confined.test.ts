import { testCommands, testRights } from './confined-cases.ts';
import { QUICK_TIER } from './support.ts';

testCommands({ process: { isolation: 'none' }, ...QUICK_TIER });
testRights(QUICK_TIER);
