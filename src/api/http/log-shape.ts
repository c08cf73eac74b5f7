import { stdTimeFunctions } from 'pino';

/** The format of every JSON log line: the level by its name, and the time in the format used everywhere else. */
export const LOG_SHAPE = {
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: (level: string) => ({ level }) },
};
