import { stdTimeFunctions } from 'pino';

/** How every line of a log in JSON looks: the level by its name, the time as in all other places. */
export const LOG_SHAPE = {
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (level: string) => ({ level }) },
};
