/*
 * What each part of a load costs, in milliseconds of CPU time unless the name says otherwise, on cores of 2.0 GHz. Each comment names the
 * measurement; docs/sizing.md has its conditions. A run of three steps and two calls was measured as a whole, and its CPU time is
 * shared out by what its parts do: round trips (40) in node, written transactions (17) in Postgres, engine calls (11) in Temporal.
 */

/** Node 34 ms per run with a built-in tool, of which the request and the start of the run are 7 of 40 round trips. */
export const RUN_API_MS = 6;
/** 5 round trips: the run's secrets, the rest of its beginning, its end. */
export const RUN_WORKER_MS = 4.2;
/** 6 round trips. */
export const STEP_WORKER_MS = 5.1;
/** 4 round trips, and 7 ms for a Python process: 48 ms per run with two Python calls, 34 with built-in ones. */
export const CALL_WORKER_MS = 10.4;

/** Postgres 13 ms per run, 17 written transactions: 0.76 each. A run has 2 besides its steps and calls. */
export const RUN_POSTGRES_MS = 1.5;
/** 3 written transactions. */
export const STEP_POSTGRES_MS = 2.3;
/** 2 written transactions. */
export const CALL_POSTGRES_MS = 1.5;
/** SQL statements: 19 in that run, 1 of them for its text. */
export const RUN_STATEMENTS = 7;
export const STEP_STATEMENTS = 7 / 3;
export const CALL_STATEMENTS = 2;

/** A Temporal server on Postgres, its database included: 104 to 170 ms of CPU per run. 11 calls: 1 start, 2 for each activity. */
export const RUN_TEMPORAL_MS = 15.5;
export const ACTIVITY_TEMPORAL_MS = 31;
/** Events that the engine writes: 36 in a run of 5 activities. Bytes: 23 kB for such a run. */
export const RUN_TRANSITIONS = 6;
export const ACTIVITY_TRANSITIONS = 6;
export const RUN_TEMPORAL_BYTES = 5_000;
export const ACTIVITY_TEMPORAL_BYTES = 3_600;

/** Reading an answer, a token in each packet: 74 to 78 µs a token. */
export const TOKEN_WORKER_MS = 0.076;
/** A row of text, several tokens: one of a statement that many runs share (prototype: 19 µs of node). */
export const TEXT_WORKER_MS = 0.019;
/**
 * Fitted to 30 and 100 streams of one worker: 61 and 44 µs for each row, with 30 and 100 rows in a statement. `bench:event-load` compares the
 * prediction for 1,000 streams with the measurement.
 */
export const TEXT_POSTGRES_MS = 0.037;
export const STATEMENT_POSTGRES_MS = 0.73;
/** A whole installation with 30 streams for 20 seconds: 2.6 to 3.3 ms a stream-second, less 0.65 for the run: 115 µs a row, 61 of them above. */
export const TEXT_READER_POSTGRES_MS = 0.054;
/** The same 30 streams with a reader each: node 6.75 ms a stream-second, less the run (1.7), its tokens and rows (3.4): 1.6 for 20 rows. */
export const TEXT_READER_API_MS = 0.08;
/** How long a worker collects text (src/events/publisher.ts): at least, for each run that speaks, and at most. */
export const PAUSE_MS = { least: 50, per_stream: 1, most: 150 } as const;
/** Texts of one statement, at most (src/store/runs/grouped-texts.ts). */
export const TEXTS_PER_STATEMENT = 256;

/** Resident memory in MB: node after some runs. */
export const API_MB = 434;
/** A worker with 250 to 2,000 runs, completed or waiting: 709 to 918. */
export const WORKER_MB = 918;
/** 2,000 open streams that nobody reads: 69 MB on an idle machine. */
export const READER_MB = 0.035;
/** 2,000 runs that wait for an approval: 22 MB more. */
export const PARKED_WORKER_MB = 0.011;
/** Of each connection. A rule, not measured here. */
export const CONNECTION_MB = 10;

/** 100,000 tasks with 3 million events: 1.46 GB with all their tables and indexes. */
export const EVENT_BYTES = 487;
/** A row of text with its indexes: 235 to 253 bytes (`bench:event-load`). */
export const TEXT_BYTES = 250;
/** Events of a run without its text: 24 in one of three steps and two calls. */
export const RUN_EVENTS = 6;
export const STEP_EVENTS = 4;
export const CALL_EVENTS = 3;
/** Texts of ended tasks are removed after a day (src/store/upkeep/retention.ts). */
export const TEXT_DAYS = 1;
/** How long Temporal keeps the history of an ended run: ENGINE_RETENTION_DAYS. */
export const ENGINE_DAYS = 1;

/** Rules, not measurements: what a machine may be used for, so that a peak or a lost neighbour finds room. */
export const USED_SHARE = 0.6;
/** Node runs on little more than one core. */
export const CORES_PER_PROCESS = 1;
/** The largest server that is counted on. */
export const LARGEST_SERVER_CORES = 32;
export const LARGEST_CONNECTIONS = 2_000;
/** Steps that a worker runs at once, of the 536 with Node's heap of 4.2 GB: src/temporal/worker/slots.ts. */
export const STREAMS_PER_WORKER = 500;
/** STREAMS_OPEN of one API process is 4,000; half of it leaves room for the readers of a process that was lost. */
export const READERS_PER_API = 2_000;
/** Postgres was measured as the bus with up to 400 streams. */
export const STREAMS_WITHOUT_REDIS = 400;
/** 100,000 texts on 1,000 channels from one process to another one (`bench:event-load`): 2.7 µs each. */
export const TEXT_REDIS_MS = 0.003;
/** Of a shard, a second; the number of shards cannot be changed later. */
export const TRANSITIONS_PER_SHARD = 5;
export const SHARDS = { least: 4, of_a_fleet: 512 } as const;
/** Connections of one process: DATABASE_POOL_SIZE, one that listens, one that probes. */
export const CONNECTIONS_PER_PROCESS = 22;
