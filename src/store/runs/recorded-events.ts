import type { LogData, RunEvent } from '../../contracts/events.ts';
import type { LogName } from '../../contracts/log-events.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';

type LogEvent<N extends LogName> = { type: 'log'; data: LogData<N> };
type StatusEvent = Pick<Extract<RunEvent, { type: 'status' }>, 'type' | 'data'>;
type Recorded<E> = E & { seq: number; timestamp: Date };
export type RecordedLog<N extends LogName = LogName> = Recorded<LogEvent<N>>;
export type RecordedStatus = Recorded<StatusEvent>;

const STATUS = { type: 'status' };
const matchLog = (event: LogName) => ({ type: 'log', data: { path: ['event'], equals: event } });

/** Reads events of a run, oldest first. Every event was created as one of the map, so the record has its fields. */
const findEvents = async <E>(prisma: PrismaClient, task_id: string, kinds: object[]): Promise<E[]> =>
  (await prisma.event.findMany({ where: { task_id, OR: kinds }, orderBy: { seq: 'asc' } })) as unknown as E[];

export const findLogs = <N extends LogName>(prisma: PrismaClient, task_id: string, names: readonly N[]) =>
  findEvents<RecordedLog<N>>(prisma, task_id, names.map(matchLog));

export const findAllLogs = (prisma: PrismaClient, task_id: string) => findEvents<RecordedLog>(prisma, task_id, [{ type: 'log' }]);

export const findStatuses = (prisma: PrismaClient, task_id: string) => findEvents<RecordedStatus>(prisma, task_id, [STATUS]);

export const findLogsAndStatuses = <N extends LogName>(prisma: PrismaClient, task_id: string, names: readonly N[]) =>
  findEvents<RecordedLog<N> | RecordedStatus>(prisma, task_id, [STATUS, ...names.map(matchLog)]);
