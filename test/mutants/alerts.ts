import type { Mutant } from './mutant.ts';

const alerts = (name: string) => ({ file: 'test/temporal/alerts.test.ts', name });
const ONCE = alerts('sends one signed message when it fires and one when it is resolved');
const QUIET = alerts('that is muted keeps its history and sends nothing');
const OWN = alerts("is of the owner's runs, or of one workflow");

export default [
  {
    id: 'alerts/every-minute',
    file: 'src/domain/alerts.ts',
    text: 'if (state === alert.state) return null;',
    replacement: '',
    harm: 'An alert sends its message every minute.',
    tests: [ONCE],
  },
  {
    id: 'alerts/muted-sends',
    file: 'src/domain/alerts.ts',
    text: 'muted || url === null ? null',
    replacement: 'url === null ? null',
    harm: 'A muted alert sends messages.',
    tests: [QUIET],
  },
  {
    id: 'alerts/disabled-is-measured',
    file: 'src/store/resources/alerts.sql.ts',
    text: 'FROM alerts a WHERE a.enabled ORDER BY',
    replacement: 'FROM alerts a ORDER BY',
    harm: 'A disabled alert fires.',
    tests: [QUIET],
  },
  {
    id: 'alerts/of-everybody',
    file: 'src/store/resources/alerts.sql.ts',
    text: "const RUNS = 't.owner = a.owner AND",
    replacement: "const RUNS = 'true AND",
    harm: 'An alert measures the runs of other users.',
    tests: [OWN],
  },
  {
    id: 'alerts/other-workflows',
    file: 'src/store/resources/alerts.sql.ts',
    text: '(a.workflow_id IS NULL OR t.workflow_id = a.workflow_id)',
    replacement: '(true OR t.workflow_id = a.workflow_id)',
    harm: 'An alert about one workflow measures all of them.',
    tests: [OWN],
  },
  {
    id: 'alerts/without-window',
    file: 'src/store/resources/alerts.sql.ts',
    text: 'coalesce(s.ended_at, s.started_at) > ${SINCE}`',
    replacement: 'true`',
    harm: 'The spend of an hour includes that of yesterday.',
    tests: [alerts('spend: what model calls cost in the window')],
  },
  {
    id: 'alerts/errors-without-window',
    file: 'src/store/resources/alerts.sql.ts',
    text: 'AND s.started_at > ${SINCE}',
    replacement: '',
    harm: 'An alert on failed requests to models keeps firing for a long run whose provider recovered yesterday.',
    tests: [alerts('provider_errors: failed requests to models')],
  },
  {
    id: 'alerts/lost-messages',
    file: 'src/store/runs/webhooks.sql.ts',
    text: 'LEFT JOIN tasks t ON t.id = d.task_id',
    replacement: 'JOIN tasks t ON t.id = d.task_id',
    harm: 'No message about an alert is ever delivered.',
    tests: [ONCE],
  },
  {
    id: 'alerts/endless-history',
    file: 'src/store/resources/alerts.sql.ts',
    text: 'ORDER BY id DESC OFFSET :kept::int - 1) AS e)',
    replacement: 'ORDER BY id DESC OFFSET :kept::int + 999) AS e)',
    harm: 'An alert that changes every minute fills the database.',
    tests: [alerts('keeps the newest 200 events')],
  },
] satisfies Mutant[];
