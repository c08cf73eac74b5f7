import { attacks } from '../toolrunner/attacks/host.ts';
import { SESSION_BOMB } from '../toolrunner/attacks/session-bomb.ts';
import { CONFINED } from '../toolrunner/support.ts';

/**
 * The kernel counts the processes of a user as a whole, so a tool may start as many as the service and its other tools need. With a
 * session each they starve the machine for 20 s, and with it every test that runs at the same time.
 */
const TIER = 'landlock of an ordinary user';
const tiers = Object.fromEntries(Object.entries(CONFINED).filter(([name]) => name === TIER));
attacks('an attack on the schedule of processes', [SESSION_BOMB], {}, tiers);
