import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (file: string) => readFileSync(`${import.meta.dirname}/../../${file}`, 'utf8');

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1e3,
  second: 1e3,
  minute: 6e4,
  m: 6e4,
  hour: 36e5,
  h: 36e5,
  day: 864e5,
  week: 6048e5,
};
const WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** Returns the milliseconds of `two seconds`, `15 s`, `24h` or `an hour`. */
function parseTime(text: string): number {
  const [, number, unit] = /^(an?|[a-z]+|\d+) ?(ms|[smh]|second|minute|hour|day|week)s?$/.exec(text)!;
  const count = /^an?$/.test(number!) ? 1 : WORDS.includes(number!) ? WORDS.indexOf(number!) : Number(number);
  return count * UNITS[unit!]!;
}

/** Returns the milliseconds of a constant or an option, from the text of its file: most are private to it. */
function readConstant(file: string, name: string): number {
  const [, text] = new RegExp(`\\b${name}(?:: | = )([\\d'][^;,\\n}]*)`).exec(read(file)) ?? [];
  if (!text) throw new Error(`${file} has no ${name}`);
  const quoted = /^'(.+?)'/.exec(text);
  if (quoted) return parseTime(quoted[1]!);
  const number = text
    .replaceAll('_', '')
    .split('*')
    .reduce((product, factor) => product * Number(factor), 1);
  const unit = /_MS$|_ms$/.test(name) ? 1 : /HOURS$/.test(name) ? 36e5 : /MINUTES$/.test(name) ? 6e4 : 1e3;
  return number * unit;
}

/** A page, a sentence of it with the time in braces, and the constant that keeps it. */
const PROMISES: [page: string, sentence: string, file: string, name: string][] = [
  ['sign-in', 'The answer of a code host is cached for {five minutes}', 'src/identity/cached-identity.ts', 'positive_ms'],
  ['sign-in', 'and for {an hour} while the host is down', 'src/identity/cached-identity.ts', 'HOUR_MS'],
  ['sign-in', '**It ends within {two seconds}** on every API process and worker', 'src/identity/own-tokens.ts', 'KEPT_MS'],
  ['sign-in', 'keeps the present one valid for up to {a week}', 'src/contracts/keys.ts', 'MOST_GRACE_SECONDS'],
  ['sign-in', '**If the database does not take it** within {two seconds}', 'src/api/service/audit-trail.ts', 'PATIENCE_MS'],
  ['durability', 'Within {24 hours} the same key with the same request', 'src/store/database/idempotency.ts', 'KEPT_MS'],
  ['durability', 'or its server was lost less than {30 seconds} ago', 'src/store/database/idempotency.ts', 'LOST_MS'],
  ['durability', 'Perdura probes it every {2 s} and replaces it', 'src/events/bus.ts', 'PROBE_MS'],
  ['durability', 'Until then streams read the record every {3 s}', 'src/events/follow.ts', 'LOOK_MS'],
  ['durability', 'or the bus is down (checked every {10 s})', 'src/events/changes.ts', 'DOWN_MS'],
  ['runs', 'and again at most once {a second}', 'src/events/changes.ts', 'GAP_MS'],
  ['dashboard', 'While much happens, that is done every {five seconds}', 'src/dashboard/api/changes.ts', 'LONGEST_GAP_MS'],
  ['dashboard', 'A tab that is hidden for {15 seconds} closes its stream', 'src/dashboard/api/use-changes.ts', 'HIDDEN_MS'],
  ['dashboard', 'everything is read again once {a minute}', 'src/dashboard/api/changes.ts', 'READ_AGAIN_MS'],
  ['durability', 'a statement fails after {4 s} (runs and streams)', 'src/store/database/database.ts', 'RUN_STATEMENT_MS'],
  ['durability', '(runs and streams) or {15 s} (everything else)', 'src/store/database/database.ts', 'STATEMENT_MS'],
  ['durability', 'the engine notices after {8 s} without a heartbeat', 'src/temporal/workflows/agent-run.ts', 'heartbeatTimeout'],
  [
    'durability',
    'A workflow task that was on its way is given out again after {4 s}',
    'src/temporal/names.ts',
    'WORKFLOW_TASK_TIMEOUT',
  ],
  ['durability', 'At the sixth death within {10 minutes}', 'src/embedded/supervision.ts', 'WITHIN_MS'],
  ['durability', 'has had no task for {five minutes}', 'src/temporal/repair/reconcile-tasks.ts', 'UNUSED_MS'],
  ['durability', 'deltas of tasks that ended more than {a day} ago', 'src/domain/pieces.ts', 'DELTAS_KEPT_MS'],
  ['webhooks', 'For {48 hours} after a rotation', 'src/contracts/webhook-secrets.ts', 'PREVIOUS_HOURS'],
  ['webhooks', 'first after {5 s}', 'src/temporal/workflows/webhook-delivery.ts', 'initialInterval'],
  ['webhooks', 'then at doubling intervals of up to {an hour}', 'src/temporal/workflows/webhook-delivery.ts', 'maximumInterval'],
  ['webhooks', 'of up to an hour, for {24 hours}', 'src/temporal/workflows/webhook-delivery.ts', 'scheduleToCloseTimeout'],
  [
    'runbooks',
    'Perdura tries again for {24 hours}, then gives up',
    'src/temporal/workflows/webhook-delivery.ts',
    'scheduleToCloseTimeout',
  ],
  ['runbooks', 'Perdura may accept it for {five minutes} more', 'src/identity/cached-identity.ts', 'positive_ms'],
  [
    'operations',
    'same retries for {24 hours} as other webhooks',
    'src/temporal/workflows/webhook-delivery.ts',
    'scheduleToCloseTimeout',
  ],
  ['operations', 'a schedule retries for {10 minutes}', 'src/temporal/workflows/scheduled-run.ts', 'scheduleToCloseTimeout'],
  ['compatible-apis', 'A stream sends a `: keep-alive` comment every {15 s}', 'src/api/http/sse.ts', 'KEEP_ALIVE_MS'],
  ['compatible-apis', 'receive progress notifications, at least every {10 s}', 'src/api/compat/mcp/progress.ts', 'HEARTBEAT_MS'],
  ['chat', 'it continues after that event, for {a day} after the end', 'src/domain/pieces.ts', 'DELTAS_KEPT_MS'],
  ['clients', 'if it asks for more than {a minute}, the error is thrown', 'src/client/transport.ts', 'MOST_RETRY_AFTER_S'],
  ['mcp', '**Finishing**: within {ten minutes}', 'src/main/wiring/mcp-sign-ins.ts', 'ATTEMPT_MS'],
  ['mcp', 'through an outage of the database of up to {40 s}', 'src/store/secrets/mcp-sign-ins.ts', 'WRITTEN_WITHIN_MS'],
  ['mcp', 'It is checked after {30 s} of idle time', 'src/tools/mcp/pool.ts', 'CHECK_AFTER_MS'],
  ['mcp', 'of idle time and closed after {5 minutes}', 'src/tools/mcp/pool.ts', 'IDLE_MS'],
  ['mcp', 'for increasing times of up to {30 s}', 'src/tools/mcp/pool.ts', 'LONGEST_BACK_OFF_MS'],
  ['mcp', 'the `connect_seconds` of its server (by default {30 s})', 'src/tools/mcp/connection.ts', 'CONNECT_SECONDS'],
  ['mcp', 'until it has been down for {20 seconds}', 'src/tools/mcp/discover.ts', 'PATIENCE_MS'],
  ['mcp', 'A server that listed its tools less than {an hour} ago', 'src/main/wiring/runs/tools.ts', 'RECENT_MS'],
  ['mcp', '(at most {a minute}, otherwise the model gets the refusal)', 'src/tools/mcp/http-wire.ts', 'LONGEST_WAIT_MS'],
  ['mcp', 'A call without progress for {two minutes} is cancelled', 'src/tools/mcp/calls.ts', 'CALL_MS'],
  ['mcp', 'does not answer ({3 s} over stdio', 'src/tools/mcp/open-client.ts', 'STDIO_DISCOVERY_MS'],
  ['mcp', 'over stdio, {10 s} over HTTP', 'src/tools/mcp/open-client.ts', 'HTTP_DISCOVERY_MS'],
  ['mcp', 'does not list its resources within {5 s}', 'src/tools/mcp/listing-cache.ts', 'RESOURCES_MS'],
  ['mcp', '(`ttlMs`), at most {five minutes}', 'src/tools/mcp/listing-cache.ts', 'LONGEST_FRESH_MS'],
  ['mcp', 'at most for the {25 minutes} of a call', 'src/tools/mcp/calls.ts', 'LONGEST_CALL_MS'],
  ['security', 'the new value is found only after up to {a minute}', 'src/main/wiring/runs/secrets.ts', 'FRESH_MS'],
];

it.each(PROMISES)('%s.md promises: %s', (page, sentence, file, name) => {
  expect(read(`docs/${page}.md`).replace(/\s+/g, ' ')).toContain(sentence.replace(/[{}]/g, ''));
  expect(readConstant(file, name)).toBe(parseTime(/\{(.+)\}/.exec(sentence)![1]!));
});
