/** An accident and the tests that show what happens in it. Its row in docs/durability.md names its id. */
export interface Accident {
  id: string;
  accident: string;
  tests: readonly AccidentTest[];
}

export interface AccidentTest {
  /** From the root of the repository. What is not in test/accidents is part of `npm test`. */
  file: string;
  /** Part of the test's name, as it stands in the file. */
  name: string;
}

const tests = (file: string, ...names: string[]): AccidentTest[] => names.map((name) => ({ file, name }));

const PEERS = 'test/accidents/silent-peers.test.ts';
const STALLS = 'test/accidents/stalls.test.ts';
const LOST = 'test/accidents/lost-workers.test.ts';
const OWN = 'test/accidents/own-servers.test.ts';
const KILLED = 'test/accidents/killed-in-each.test.ts';
const BUS = 'test/temporal/bus.test.ts';
const OUTAGE = 'test/accidents/outage.test.ts';
const POISON = 'test/accidents/poison.test.ts';
const REFUSED = 'test/api/refused-starts.test.ts';
const FAILOVER = 'test/accidents/failover.test.ts';
const PARKED = 'test/temporal/parked-behind.test.ts';
const HOMES = 'test/accidents/separate-homes.test.ts';
const HOME = 'test/embedded/installation.test.ts';

export const ACCIDENTS: readonly Accident[] = [
  {
    id: 'silent-listen',
    accident: 'The connection for events goes silent or breaks',
    tests: [
      ...tests('test/temporal/silent-peers.test.ts', 'while the connection that events come by is silent'),
      ...tests(BUS, 'notices a connection that has fallen silent', 'possibly missed events after its connection breaks'),
      ...tests(STALLS, "the API's LISTEN"),
    ],
  },
  {
    id: 'silent-pool',
    accident: 'Connections of the pool go silent',
    tests: [
      ...tests(PEERS, 'on the connections that are open, they are replaced'),
      ...tests(STALLS, "the API's pool", "the workers' pools"),
      ...tests(KILLED, 'while connections fall silent'),
    ],
  },
  {
    id: 'database-down',
    accident: 'The whole database is silent or down',
    tests: [
      ...tests(PEERS, 'on all connections, requests are refused'),
      ...tests(OUTAGE, 'prompts are refused, text of the model is not lost'),
      ...tests(KILLED, 'while Postgres is killed'),
    ],
  },
  {
    id: 'redis-down',
    accident: 'Redis is silent, frozen or down, or was never there',
    tests: [
      ...tests(
        PEERS,
        'is not there at the start',
        'is killed, everything works',
        'is silent, everything works',
        'is frozen, everything',
      ),
      ...tests(BUS, 'notices a connection that has fallen silent', 'possibly missed events after its connection breaks'),
      ...tests(STALLS, "the API's Redis", "the workers' Redis"),
      ...tests(KILLED, 'while Redis is killed', 'while Redis is frozen', 'with Redis as the bus'),
    ],
  },
  {
    id: 'redis-flushed',
    accident: 'Redis is flushed',
    tests: [...tests(PEERS, 'is flushed, nothing is missed'), ...tests(KILLED, 'while Redis is flushed')],
  },
  {
    id: 'silent-engine',
    accident: 'Connections to Temporal go silent',
    tests: [
      ...tests(STALLS, "the API's Temporal", "the workers' Temporal", "the workers' Temporal in short steps"),
      ...tests('test/temporal/lost-tasks.test.ts', 'every workflow gets a lost task again', 'gives no work to a connection'),
    ],
  },
  {
    id: 'engine-down',
    accident: 'Temporal is down',
    tests: [
      ...tests(OUTAGE, 'prompts are refused and leave nothing'),
      ...tests('test/temporal/engine-down.test.ts', 'leaves nothing half written while the engine is out of reach'),
      ...tests(KILLED, 'while Temporal is killed'),
    ],
  },
  {
    id: 'engine-emptied',
    accident: 'Temporal loses its data while workers run',
    tests: tests('test/temporal/emptied-engine.test.ts', 'an engine that was emptied under a living worker'),
  },
  {
    id: 'own-server-killed',
    accident: 'Postgres or Temporal of `npm start` dies',
    tests: [
      ...tests('test/embedded/supervision.test.ts', 'restarts a server that died'),
      ...tests(OWN, 'restarts its own Postgres and Temporal when they are killed'),
      ...tests('test/accidents/supervision.test.ts', 'a server that dies again and again is given up'),
    ],
  },
  {
    id: 'installation-killed',
    accident: '`npm start` is killed with kill -9',
    tests: [
      ...tests(OWN, 'after a kill -9 of itself or of any server'),
      ...tests('test/embedded/postgres.test.ts', 'takes over the server of a killed process'),
      ...tests('test/embedded/temporal.test.ts', 'takes over the server of a killed process'),
    ],
  },
  {
    id: 'connections-used-up',
    accident: 'The database has no connection left',
    tests: [...tests('test/temporal/room.test.ts', 'used-up connections'), ...tests(KILLED, 'while connections are used up')],
  },
  {
    id: 'disk-full',
    accident: 'The disk of the database is full',
    tests: [...tests('test/accidents/disk-full.test.ts', 'a full disk holds runs'), ...tests(KILLED, 'while the disk is full')],
  },
  {
    id: 'log-stuck',
    accident: 'The disk of the log is full, or nobody reads the pipe',
    tests: tests(
      'test/unit/log-destination.test.ts',
      'drops lines while the disk is full',
      'does not wait for a reader that does not read',
    ),
  },
  {
    id: 'worker-killed',
    accident: 'A worker is killed',
    tests: [
      ...tests('test/temporal/worker-loss.test.ts', 'when one dies during a model call'),
      ...tests('test/temporal/lost-workers.test.ts', 'asks for the result of write tools'),
      ...tests(LOST, 'a call that reads is repeated', 'halts a run that has lost its worker'),
      ...tests(
        'test/accidents/roles.test.ts',
        'lose the one with the role',
        'leave a run waiting while one of them is missing',
        'are named while work is left',
      ),
    ],
  },
  {
    id: 'disk-lost',
    accident: 'a worker is lost with its disk',
    tests: tests(
      HOMES,
      'a run finds every file after each of its workers was lost with its disk',
      'the repository is checked out once, and its files go where the run goes',
    ),
  },
  {
    id: 'object-store-down',
    accident: 'the object store is unreachable',
    tests: tests(HOMES, 'a call whose files cannot be stored is not done until they can'),
  },
  {
    id: 'worker-frozen',
    accident: 'A worker is frozen and continues later',
    tests: tests(LOST, 'a worker that was only frozen harms nothing'),
  },
  {
    id: 'worker-lost-repeatedly',
    accident: 'A step ends its worker again and again',
    tests: tests(LOST, 'a step that loses its worker again and again'),
  },
  {
    id: 'api-killed',
    accident: 'An API server is killed',
    tests: tests(
      'test/api/lost-servers.test.ts',
      'each request with an Idempotency-Key creates one thing',
      'a repeated chat request finds the message that its lost server has stored',
    ),
  },
  {
    id: 'poisoned-model',
    accident: 'A model sends what is too large, malformed or without end',
    tests: [
      ...tests(POISON, 'fails its run with its own error code', 'null characters and invalid numbers', 'an endless answer'),
      ...tests('test/accidents/large-poison.test.ts', 'fails its run with its own error code'),
      ...tests(KILLED, 'while the model sends poison'),
    ],
  },
  {
    id: 'poisoned-mcp',
    accident: 'An MCP server sends what is too large or malformed',
    tests: tests(POISON, 'gets its call answered for the model', '50,000 tools is refused', 'gets its other tools offered'),
  },
  {
    id: 'half-migration',
    accident: 'A first start or an upgrade is killed',
    tests: tests(
      'test/accidents/half-migrations.test.ts',
      'a migration killed at any statement is carried out by the next start',
      'the newest migration is applied to the state before it',
    ),
  },
  {
    id: 'other-schema',
    accident: 'The database schema is newer or older than the version that starts',
    tests: tests(REFUSED, 'does not start on a newer one', 'does not start on an older one'),
  },
  {
    id: 'key-missing',
    accident: 'The encryption key is missing, or another one took its place',
    tests: tests(REFUSED, 'does not start with another key', 'does not start without the key', 'makes no key file'),
  },
  {
    id: 'home-copied',
    accident: 'A running home is copied',
    tests: [
      ...tests(HOME, 'does not hold for a copy of the home'),
      ...tests('test/embedded/postgres.test.ts', 'starts from a copy of a running home'),
      ...tests('test/embedded/temporal.test.ts', 'leaves the server of the home that this one is a copy of alone'),
    ],
  },
  {
    id: 'home-unusable',
    accident: 'The home is read-only or of another user',
    tests: tests(HOME, 'says in one sentence that the home cannot be written to', 'names a file system that is read-only'),
  },
  {
    id: 'port-taken',
    accident: 'Another program took a port',
    tests: [
      ...tests(HOME, 'replaced if another process has them'),
      ...tests('test/embedded/sample.test.ts', 'follow it to another port'),
    ],
  },
  {
    id: 'record-older',
    accident: 'The database is restored to an older state than Temporal',
    tests: tests(
      'test/temporal/continuity.test.ts',
      'waits in a model step, says what the record lacks',
      'waits in a tool call that the record does not know',
    ),
  },
  {
    id: 'engine-older',
    accident: 'Temporal is restored to an older state than the database',
    tests: tests(
      'test/temporal/older-engine.test.ts',
      'when it holds its lane',
      'when a person has decided, and the call has its result',
    ),
  },
  {
    id: 'restored',
    accident: 'The database is restored to an earlier time',
    tests: [
      ...tests(
        'test/temporal/epoch.test.ts',
        'can be declared by a command',
        'marks the tasks that had not ended',
        'gets a reset and the whole run again',
      ),
      ...tests('test/accidents/restored-home.test.ts', 'a home begins a new epoch when it was copied back'),
      ...tests('test/temporal/restored-calls.test.ts', 'are asked about if they write'),
    ],
  },
  {
    id: 'restored-while-approving',
    accident: 'The database is restored while a run waits for approval',
    tests: [
      ...tests(FAILOVER, 'waits for approval: the run says what is missing'),
      ...tests(
        PARKED,
        'notices it when it gets a decision that it does not wait for',
        'is found by the reconciler, once',
        'does not say that the call was not made if it is halted before anything has noticed',
      ),
    ],
  },
  {
    id: 'restored-while-queued',
    accident: 'The database is restored while a run waits for its lane',
    tests: [
      ...tests(FAILOVER, 'waits for its lane: the lane is not held for good'),
      ...tests(PARKED, 'does not hold the lane for good'),
    ],
  },
  {
    id: 'promoted-standby',
    accident: 'A standby is promoted that lacks the last seconds',
    tests: [
      ...tests(FAILOVER, 'begins an epoch, and no run claims'),
      ...tests('test/temporal/epoch.test.ts', 'is noticed by one process, is shown by its comparison'),
    ],
  },
  {
    id: 'promoted-while-streaming',
    accident: 'A standby is promoted that lacks a part of a text in progress',
    tests: [
      ...tests(FAILOVER, 'leaves no hole in the stream of a run in progress'),
      ...tests('test/temporal/text-on-record.test.ts', 'has lost a part is written again as a whole'),
    ],
  },
  {
    id: 'backup-under-load',
    accident: 'A backup is made while runs call tools, or its disk fills up, or it is stopped',
    tests: tests('test/embedded/backup.test.ts', 'takes all that a running installation holds'),
  },
  {
    id: 'backup-restored',
    accident: 'A backup is restored',
    tests: tests(
      'test/embedded/restore.test.ts',
      'is restored to the same databases, secrets and files',
      'ends in one sentence and leaves no file when the disk is full',
    ),
  },
  {
    id: 'clock-jumps',
    accident: 'The clock of a machine jumps by a day',
    tests: tests(
      'test/temporal/clock.test.ts',
      'a task without an execution is started, and an execution without a task is ended',
      'a due time is served although it was recorded as missed',
    ),
  },
  {
    id: 'readers-stop',
    accident: 'Clients of streams stop reading',
    tests: [
      ...tests('test/api/readers.test.ts', 'cost little while a run streams a long text'),
      ...tests('test/accidents/stalled.test.ts', 'is cut when the reply is not a stream, too'),
    ],
  },
  {
    id: 'too-many-requests',
    accident: 'More requests arrive than the database can serve',
    tests: tests('test/api/crowded.test.ts', 'accepts prompts or refuses them at once'),
  },
  {
    id: 'upgraded-in-progress',
    accident: 'Processes are replaced by those of the next version',
    tests: tests('test/temporal/versioning.test.ts', 'keeps a run with workers of the release that it began on'),
  },
  {
    id: 'evaluation-interrupted',
    accident: 'The worker of an evaluation is killed',
    tests: tests('test/accidents/evaluation-losses.test.ts', 'an evaluation whose worker is killed continues with another one'),
  },
  {
    id: 'asked-and-lost',
    accident: "A worker is killed while an MCP server's question waits for an answer",
    tests: [
      ...tests(
        'test/temporal/mcp-questions.test.ts',
        'an idempotent call is repeated, and takes the answer that was given meanwhile',
      ),
      ...tests(
        'test/temporal/mcp-questions.test.ts',
        'a call that writes is asked about first, and then asks the same question again',
      ),
    ],
  },
];
