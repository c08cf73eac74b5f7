/** The statuses of a task that has not ended. */
export const LIVE_STATUSES = ['pending', 'running', 'waiting'] as const;
/** The statuses of a task that has ended, which never change again. */
export const TERMINAL_STATUSES = ['completed', 'failed', 'halted'] as const;
export const TASK_STATUSES = [...LIVE_STATUSES, ...TERMINAL_STATUSES] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export const isTerminal = (status: unknown): status is TerminalStatus =>
  (TERMINAL_STATUSES as readonly unknown[]).includes(status);

/** Where an alert sends its messages, and in which form. */
export const ALERT_CHANNELS = ['webhook', 'slack', 'teams', 'discord', 'email'] as const;
export type AlertChannelType = (typeof ALERT_CHANNELS)[number];

export const ALERT_MEASURES = ['failure_rate', 'spend', 'waiting', 'provider_errors', 'backlog', 'budget'] as const;
export type AlertMeasure = (typeof ALERT_MEASURES)[number];
export const ALERT_STATES = ['ok', 'firing'] as const;
export type AlertState = (typeof ALERT_STATES)[number];
