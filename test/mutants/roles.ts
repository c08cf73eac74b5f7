import type { Mutant } from './mutant.ts';

const ROLES = 'test/temporal/roles.test.ts';
const MISSING = 'test/accidents/roles.test.ts';
const SIZING = 'test/unit/sizing.test.ts';

export default [
  {
    id: 'roles/tools-where-runs-are',
    file: 'src/temporal/workflows/agent-run.ts',
    text: "{ summary, ...placeOf(input, 'tools') }",
    replacement: '{ summary }',
    harm: 'Tools run on the machines of the workers that hold the keys of providers.',
    tests: [{ file: ROLES, name: 'complete a run with a model, a Python tool' }],
  },
  {
    id: 'roles/one-queue-for-runs-of-roles',
    file: 'src/temporal/engine.ts',
    text: 'role_queues ? { ...run, role_queues } : run',
    replacement: 'run',
    harm: 'Workers of the roles models and tools get no work.',
    tests: [{ file: ROLES, name: 'complete a run with a model, a Python tool' }],
  },
  {
    id: 'roles/runs-without-their-calls',
    file: 'src/temporal/worker.ts',
    text: '  runs: (all) => all,\n',
    replacement: '  runs: ({ exchange: _, callTool: _call, remember: _remember, ...rest }) => rest,\n',
    harm: 'Runs that began before there were roles fail at their next step.',
    tests: [{ file: ROLES, name: 'carry out what was sent to the one queue' }],
  },
  {
    id: 'roles/silent-queue',
    file: 'src/temporal/queues.ts',
    text: ".filter(({ role, waiting }) => role === 'runs' || role_queues || waiting > 0)",
    replacement: ".filter(({ role }) => role === 'runs')",
    harm: 'Runs wait for a worker of the role tools, and nothing reports it.',
    tests: [{ file: MISSING, name: 'leave a run waiting while one of them is missing' }],
  },
  {
    id: 'roles/forgotten-work',
    file: 'src/temporal/queues.ts',
    text: 'role_queues || waiting > 0',
    replacement: 'role_queues',
    harm: 'After the queues of roles were switched off, runs wait in them and nothing reports it.',
    tests: [{ file: MISSING, name: 'are named while work is left in their queues' }],
  },
  {
    id: 'roles/keys-of-providers',
    file: 'src/store/tools-role.ts',
    text: " AND g.resource_kind <> 'provider'",
    replacement: '',
    harm: 'A tool that breaks out of its sandbox reads the keys of all providers.',
    tests: [{ file: ROLES, name: 'sees stored tokens that tools were granted' }],
  },
  {
    id: 'roles/everything-of-tasks',
    file: 'src/store/tools-role.ts',
    text: '`SELECT (${[',
    replacement: "'SELECT', `SELECT (${[",
    harm: 'A tool that breaks out of its sandbox reads the access tokens of callers.',
    tests: [{ file: ROLES, name: 'reads sealed values in no column but' }],
  },
  {
    id: 'roles/earlier-rights',
    file: 'src/store/tools-role.ts',
    text: '    `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${role}`,\n',
    replacement: '',
    harm: 'A role that was given everything once keeps it.',
    tests: [{ file: ROLES, name: 'loses what it was given before' }],
  },
  {
    id: 'roles/all-secrets-of-a-run',
    file: 'src/temporal/ports/secrets.ts',
    text: "WORKER_ROLE.every((role) => role === 'tools') ? openThoseOfCalls : openAll",
    replacement: 'WORKER_ROLE.length > 3 ? openThoseOfCalls : openAll',
    harm: 'A worker of the role tools asks for the access token of the caller, and can carry out no call.',
    tests: [{ file: ROLES, name: 'complete a run with a model, a Python tool' }],
  },
  {
    id: 'roles/superuser',
    file: 'src/store/tools-role.ts',
    text: 'if (rows[0].unrestricted)',
    replacement: 'if (!rows[0])',
    harm: 'An operator believes that tools workers are limited, and they read everything.',
    tests: [{ file: ROLES, name: 'must exist and be restricted' }],
  },
  {
    id: 'roles/sizing-without-streams',
    file: 'src/domain/sizing.ts',
    text: 'const processes = processesFor(coresFor(most), [streams / cost.STREAMS_PER_WORKER]);',
    replacement: 'const processes = processesFor(coresFor(most), []);',
    harm: 'The workers that perdura size names have no room for the slow answers of a load.',
    tests: [{ file: SIZING, name: 'has a slot for each of many slow answers' }],
  },
  {
    id: 'roles/sizing-pause',
    file: 'src/domain/sizing.ts',
    text: 'Math.min(most, Math.max(least, (streams / workers) * per_stream))',
    replacement: 'Math.min(most, Math.max(least, streams * per_stream))',
    harm: 'perdura size predicts a third of the rows of text that many workers write.',
    tests: [{ file: SIZING, name: 'follows how workers write texts' }],
  },
] satisfies Mutant[];
