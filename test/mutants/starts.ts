import type { Mutant } from './mutant.ts';

const RUN = 'src/temporal/workflows/agent-run.ts';
const STARTS = 'src/temporal/start/starts.ts';
const THREAD = 'src/temporal/worker/watched-worker.ts';
const BRIEF = 'test/temporal/brief-calls.test.ts';
const TURNS = 'test/unit/starts.test.ts';
const STUCK = [{ file: 'test/temporal/watched-worker.test.ts', name: 'a workflow that does not yield stands still alone' }];

export default [
  {
    id: 'starts/brief-calls-hold-up-others',
    file: RUN,
    text: 'calls.every((call) => call.brief)',
    replacement: 'calls.some((call) => call.brief)',
    harm: 'A call of a tool that takes minutes is made within a workflow task, unseen, and is cut off after two seconds.',
    tests: [{ file: BRIEF, name: 'that has another call consists of activities' }],
  },
  {
    id: 'starts/builds-without-a-name',
    file: 'src/temporal/worker/worker.ts',
    text: ' : { buildId: toBuildId(settings.version) }',
    replacement: ' : {}',
    harm: 'Each run is indexed once more, and operators read a checksum instead of the version that executed it.',
    tests: [{ file: BRIEF, name: 'is made within the workflow task' }],
  },
  {
    id: 'starts/brief-calls-with-roles',
    file: RUN,
    text: 'brief = !input.role_queues && ',
    replacement: 'brief = ',
    harm: 'With roles, a tool is called by the worker of runs.',
    tests: [{ file: 'test/temporal/roles.test.ts', name: 'complete a run with a model, a Python tool' }],
  },
  {
    id: 'starts/brief-call-given-up',
    file: RUN,
    text: 'if (isCancellation(error) || isFinal(error)) throw error;\n    return runLater();',
    replacement: 'throw error;',
    harm: 'A run fails because the database was slow for two seconds.',
    tests: [{ file: BRIEF, name: 'becomes an activity' }],
  },
  {
    id: 'starts/nothing-is-brief',
    file: 'src/temporal/activities/exchange/record.ts',
    text: '...(tools.get(name)?.brief ? { brief: true as const } : {}),',
    replacement: '',
    harm: 'Each entry of a to-do list costs two transactions of the engine more.',
    tests: [{ file: BRIEF, name: 'is made within the workflow task' }],
  },
  {
    id: 'starts/stack-of-every-promise',
    file: 'src/vendor/temporal-internals.ts',
    text: 'if (!call_stacks) ',
    replacement: 'if (call_stacks) ',
    harm: 'Each run takes a sixth more CPU time, and nobody can ask where its code waits.',
    tests: [{ file: 'test/temporal/watched-worker.test.ts', name: 'a run has a call stack only if it is asked for' }],
  },
  {
    id: 'starts/one-owner-first',
    file: STARTS,
    text: '    waiting.delete(owner);\n    if (rest.length > 0) waiting.set(owner, rest);',
    replacement: '    if (rest.length > 0) waiting.set(owner, rest);\n    else waiting.delete(owner);',
    harm: 'A person waits until the thousand prompts of another have started.',
    tests: [{ file: TURNS, name: 'let owners take turns' }],
  },
  {
    id: 'starts/turn-kept-by-a-failure',
    file: STARTS,
    text: 'if (!goes_on) end();',
    replacement: '',
    harm: 'After six prompts that were refused, each prompt waits for a third of a second.',
    tests: [{ file: TURNS, name: 'end when they fail' }],
  },
  {
    id: 'starts/turn-without-an-end',
    file: STARTS,
    text: 'const timer = setTimeout(end, LONGEST_MS);',
    replacement: 'const timer = setTimeout(() => {}, LONGEST_MS);',
    harm: 'Six runs whose servers do not answer keep all others from starting.',
    tests: [{ file: TURNS, name: 'hold up no other for longer than 300 ms' }],
  },
  {
    id: 'starts/model-not-reported',
    file: 'src/main/wiring/runs/index.ts',
    text: 'setImmediate(onAsked);',
    replacement: '',
    harm: 'Twenty runs a second start, however fast the machine is.',
    tests: [{ file: 'test/temporal/starts.test.ts', name: 'start as soon as the models of those before are asked' }],
  },
  {
    id: 'starts/waiting-run-keeps-its-turn',
    file: 'src/temporal/start/dispatch.ts',
    text: 'if (holder !== task_id) starts.endTurn(task_id);',
    replacement: '',
    harm: 'Prompts to one workflow are accepted at twenty a second.',
    tests: [{ file: 'test/temporal/starts.test.ts', name: 'that wait for their lane keep no turn' }],
  },
  {
    id: 'starts/stuck-thread-kept',
    file: THREAD,
    text: 'if (silent < SILENT_LOOKS) return;',
    replacement: 'return;',
    harm: 'A workflow that does not yield stops all runs of its worker.',
    tests: STUCK,
  },
  {
    id: 'starts/stuck-again',
    file: THREAD,
    text: 'startLimited: () => startThread(data, { limited: true }, parts),',
    replacement: 'startLimited: () => startThread(data, { limited: false }, parts),',
    harm: 'A workflow that does not yield stops the second thread for good.',
    tests: STUCK,
  },
  {
    id: 'starts/workflow-logs-lost',
    file: 'src/vendor/temporal-internals.ts',
    text: 'is_silent: activator.sinkCalls.length === 0',
    replacement: 'is_silent: true',
    harm: 'What workflows log, such as why a run failed, and their spans are lost.',
    tests: [{ file: 'test/temporal/watched-worker.test.ts', name: 'what a workflow logs is logged' }],
  },
] satisfies Mutant[];
