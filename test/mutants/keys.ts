import type { Mutant } from './mutant.ts';

const keys = (name: string) => ({ file: 'test/api/keys.test.ts', name });
const roles = (name: string) => ({ file: 'test/api/roles.test.ts', name });
const audit = (name: string) => ({ file: 'test/api/audit.test.ts', name });
const ENDS = keys('ends with its deletion, its rotation or its time');
const WITHIN = keys('cannot make, replace or remove one that may more');
const NOWHERE = keys('reaches neither an identity provider nor a model');

export default [
  {
    id: 'keys/permission-forgotten',
    file: 'src/api/checks/permission.ts',
    text: 'if (access === null || caller?.scopes.includes(access)) return;',
    replacement: 'if (access === null || caller) return;',
    harm: 'Viewers and keys of any scope may do everything.',
    tests: [roles('is refused every operation that is not declared to read')],
  },
  {
    id: 'keys/kept-for-minutes',
    file: 'src/identity/own-tokens.ts',
    text: 'const KEPT_MS = 2_000;',
    replacement: 'const KEPT_MS = 300_000;',
    harm: 'A deleted key works for five minutes.',
    tests: [ENDS],
  },
  {
    id: 'keys/previous-forever',
    file: 'src/store/people/service-keys.ts',
    text: 'previous_hash: hash, previous_until: { gt: now }',
    replacement: 'previous_hash: hash',
    harm: 'A key that was replaced still works.',
    tests: [ENDS],
  },
  {
    id: 'keys/rotate-a-stronger-one',
    file: 'src/api/routes/keys.ts',
    text: 'if (caller.service_key && !isWithin(target_key, caller))',
    replacement: 'if (caller.service_key && !target_key)',
    harm: 'A key with few rights rotates one with many and takes it over.',
    tests: [WITHIN],
  },
  {
    id: 'keys/asked-of-providers',
    file: 'src/identity/own-tokens.ts',
    text: '(isOne(access_token) ? own : others)',
    replacement: '(others(access_token) && isOne(access_token) ? own : others)',
    harm: 'Service keys are sent to the identity provider.',
    tests: [NOWHERE],
  },
  {
    id: 'keys/sent-to-the-model',
    file: 'src/runtimes/clients.ts',
    text: 'if (isServiceKey(access_token))',
    replacement: 'if (!access_token)',
    harm: 'Service keys are sent to the model endpoint.',
    tests: [NOWHERE],
  },
  {
    id: 'keys/schedule-without-run',
    file: 'src/identity/later-starts.ts',
    text: "if (scopes.includes('run')) return null;",
    replacement: "if (scopes.includes('read')) return null;",
    harm: 'A key that may only write starts runs by a schedule.',
    tests: [keys('starts the runs of a schedule that was saved with it')],
  },
  {
    id: 'keys/streams-without-end',
    file: 'src/api/sign-in/token-ends.ts',
    text: 'if (caller === null) ended.abort();',
    replacement: 'if (caller === undefined) ended.abort();',
    harm: 'A stream continues after the service key that opened it was deleted.',
    tests: [ENDS],
  },
  {
    id: 'keys/audit-without-streams',
    file: 'src/api/http/mount.ts',
    text: 'if (streams) await audit.record(',
    replacement: 'if (!streams) await audit.record(',
    harm: 'Runs that are started by a streamed reply are not in the audit.',
    tests: [audit('has what was refused, runs behind every door')],
  },
  {
    id: 'keys/audit-can-be-emptied',
    file: 'prisma/functions/keep_audit.sql',
    text: "IF OLD.at < now() - interval '1 day' AND current_setting",
    replacement: 'IF current_setting',
    harm: 'A wrong clock empties the audit.',
    tests: [audit('cannot be changed, emptied or shortened')],
  },
  {
    id: 'keys/audit-blocks',
    file: 'src/api/service/audit-trail.ts',
    text: 'setTimeout(resolve, patience_ms, false)',
    replacement: 'setTimeout(() => {}, patience_ms)',
    harm: 'A database that does not answer holds every reply up.',
    tests: [audit('holds no reply up, and is in the log')],
  },
] satisfies Mutant[];
