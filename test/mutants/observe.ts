import type { Mutant } from './mutant.ts';

const PORT = 'test/temporal/worker-port.test.ts';
const METERS = 'test/unit/meters.test.ts';
const TRACES = 'test/temporal/traces.test.ts';
const SPANS = 'test/unit/spans.test.ts';
const REQUESTS = 'test/api/conventions.test.ts';

export default [
  {
    id: 'observe/ready-without-polling',
    file: 'src/main/worker-port.ts',
    text: 'if (running?.polls()) return',
    replacement: 'if (running?.polls() !== false) return',
    harm: 'A worker that takes no work counts as ready, and a deploy replaces the last one that does.',
    tests: [{ file: PORT, name: 'is live and not ready while the worker waits' }],
  },
  {
    id: 'observe/worker-metrics-for-everybody',
    file: 'src/main/worker-port.ts',
    text: 'metrics_token: config.METRICS_TOKEN ?? null',
    replacement: 'metrics_token: null',
    harm: 'METRICS_TOKEN protects the metrics of the API and not those of workers.',
    tests: [{ file: PORT, name: 'shows the metrics only with METRICS_TOKEN' }],
  },
  {
    id: 'observe/unlimited-names',
    file: 'src/observe/meters.ts',
    text: 'if (names.size < MOST_NAMES) names.add(short);',
    replacement: 'names.add(short);',
    harm: 'Users who make many tools make many series, until Prometheus has no memory left.',
    tests: [{ file: METERS, name: 'gives separate series to a limited number of names' }],
  },
  {
    id: 'observe/halts-as-failures',
    file: 'src/observe/measured.ts',
    text: "report(signal.aborted ? 'stopped' : 'failed', getElapsedSeconds(start));",
    replacement: "report('failed', getElapsedSeconds(start));",
    harm: 'Each deploy looks as if models and tools failed, and wakes somebody up.',
    tests: [{ file: METERS, name: 'distinguishes a call that was stopped from one that failed' }],
  },
  {
    id: 'observe/one-source-for-all',
    file: 'src/observe/state-text.ts',
    text: 'await Promise.allSettled([workload(), backlogs()])',
    replacement:
      "await Promise.all([workload(), backlogs()]).then((both) => both.map((value) => ({ status: 'fulfilled', value }))) as never",
    harm: 'While the database is down, no metric is left that reports it.',
    tests: [{ file: METERS, name: 'reports that the database or the engine does not answer' }],
  },
  {
    id: 'observe/counted-twice',
    file: 'src/store/runs/settlement.sql.ts',
    text: '(ended).trigger AS trigger',
    replacement: "coalesce((ended).trigger, 'prompt') AS trigger",
    harm: 'A run that two workers end is counted twice.',
    tests: [{ file: 'test/api/settlement.test.ts', name: 'is reported once, so that the run is counted once' }],
  },
  {
    id: 'observe/lost-ends',
    file: 'src/temporal/start/settle.ts',
    text: 'if (settlement.ended) onEnd({ status, ...settlement.ended });',
    replacement: '',
    harm: 'No run is counted.',
    tests: [{ file: PORT, name: 'counts runs, models, tools' }],
  },
  {
    id: 'observe/forgotten-approvals',
    file: 'src/store/upkeep/workload.sql.ts',
    text: "c.status IN ('waiting_approval', 'waiting_reconciliation',",
    replacement: "c.status IN ('waiting_reconciliation',",
    harm: 'Runs wait for a person, and no metric shows it.',
    tests: [{ file: PORT, name: 'shows what has not ended' }],
  },
  {
    id: 'observe/silent-queues',
    file: 'src/temporal/client/queues.ts',
    text: "{ queue: task_queue, kind: 'workflow' as const },",
    replacement: '',
    harm: 'A queue of workflows without a worker is not shown, and the alert about it never fires.',
    tests: [{ file: PORT, name: 'shows what has not ended' }],
  },
  {
    id: 'observe/addresses-in-spans',
    file: 'src/observe/spans.ts',
    text: '/^url\\.scheme$/',
    replacement: '/^url\\.\\w+$/',
    harm: 'The secret address of a receiver of webhooks is readable in traces.',
    tests: [{ file: SPANS, name: 'drops whatever is not on the list' }],
  },
  {
    id: 'observe/content-by-default',
    file: 'src/observe/spans.ts',
    text: 'if (free ? !content :',
    replacement: 'if (free ? false :',
    harm: 'Prompts and answers go to the collector of traces, although nobody asked for that.',
    tests: [{ file: SPANS, name: 'drops whatever is not on the list' }],
  },
  {
    id: 'observe/secrets-in-content',
    file: 'src/observe/spans.ts',
    text: "if (typeof value === 'string') result[key] = redact(value);",
    replacement: "if (typeof value === 'string') result[key] = value;",
    harm: 'A tool that returns its token puts it into the traces.',
    tests: [{ file: SPANS, name: 'keeps content and the words of errors' }],
  },
  {
    id: 'observe/uncleaned-spans',
    file: 'src/observe/tracing.ts',
    text: 'cleanSpans(new BatchSpanProcessor(exporter), { content, redact })',
    replacement: 'new BatchSpanProcessor(exporter)',
    harm: 'Addresses with tokens, and the words of errors, go to the collector.',
    tests: [{ file: TRACES, name: 'has no content, no secret and no address with its path' }],
  },
  {
    id: 'observe/two-traces',
    file: 'src/temporal/worker/worker.ts',
    text: '    ...settings.tracing?.workerOptions,\n',
    replacement: '',
    harm: 'The trace of a request ends at the API.',
    tests: [{ file: TRACES, name: 'is one trace from the caller over API' }],
  },
  {
    id: 'observe/any-request-id',
    file: 'src/api/http/request-ids.ts',
    text: '/^[\\w.:-]{1,128}$/',
    replacement: '/^.+$/',
    harm: 'A caller writes what it likes into the log, at any length.',
    tests: [{ file: REQUESTS, name: 'is replaced if it' }],
  },
  {
    id: 'observe/request-id-kept',
    file: 'src/api/http/request-ids.ts',
    text: 'reply.raw.setHeader(REQUEST_ID, request.id);',
    replacement: '',
    harm: 'Nobody finds the line of the log about a request that went wrong.',
    tests: [{ file: REQUESTS, name: 'comes from X-Request-Id and is returned' }],
  },
] satisfies Mutant[];
