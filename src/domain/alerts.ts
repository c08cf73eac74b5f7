import type { AlertChannelType, AlertMeasure, AlertState } from './statuses.ts';

/** A place for messages, as people set it. */
type AlertTarget = { type: Exclude<AlertChannelType, 'email'>; url: string } | { type: 'email'; to: string[] };

/** An alert and the current value of its rule. */
export interface MeasuredAlert {
  id: string;
  name: string;
  measure: AlertMeasure;
  threshold: number;
  window_minutes: number;
  workflow_id: string | null;
  budget_id: string | null;
  webhook_url: string | null;
  channels: AlertTarget[];
  state: AlertState;
  /** The time in ISO 8601. */
  state_since: string;
  muted: boolean;
  value: number;
}

/** The message sent when an alert fires or is resolved, in the shape that Standard Webhooks proposes. */
export interface AlertMessage {
  type: 'alert.fired' | 'alert.resolved' | 'alert.test';
  timestamp: string;
  data: Pick<MeasuredAlert, 'name' | 'measure' | 'threshold' | 'window_minutes' | 'workflow_id' | 'budget_id' | 'value'> & {
    alert_id: string;
    /** The time when a resolved alert fired. */
    fired_at: string;
  };
}

interface AlertChange {
  alert_id: string;
  state: AlertState;
  value: number;
  threshold: number;
  muted: boolean;
  payload: AlertMessage;
  /** Where the message is sent; empty if the alert is muted or names no address. */
  deliveries: { channel: AlertChannelType; url: string }[];
}

/**
 * Returns the change if the alert's value has reached the threshold (it fires) or fallen below it (it is resolved); null if
 * nothing has changed.
 */
export function alertChange(alert: MeasuredAlert, now: string): AlertChange | null {
  const { id: alert_id, threshold, value, muted } = alert;
  const state = value >= threshold ? 'firing' : 'ok';
  if (state === alert.state) return null;
  const deliveries = muted ? [] : listAddresses(alert);
  return { alert_id, state, value, threshold, muted, payload: toAlertMessage(alert, state, now), deliveries };
}

/** Returns each address once in each form: every recipient of an e-mail has a separate message, which is retried alone. */
export function listAddresses({ webhook_url, channels }: Pick<MeasuredAlert, 'webhook_url' | 'channels'>) {
  const signed: AlertTarget[] = webhook_url === null ? [] : [{ type: 'webhook', url: webhook_url }];
  const all = [...signed, ...channels].flatMap((target) => {
    const urls = target.type === 'email' ? target.to : [target.url];
    return urls.map((url) => ({ channel: target.type, url }));
  });
  return [...new Map(all.map((address) => [`${address.channel} ${address.url}`, address])).values()];
}

/** Returns the message that tries the addresses of an alert. */
export const toTestMessage = (alert: Subject, now: string): AlertMessage => ({
  type: 'alert.test',
  timestamp: now,
  data: toData(alert, now),
});

function toAlertMessage(alert: MeasuredAlert, state: AlertState, now: string): AlertMessage {
  const is_firing = state === 'firing';
  return {
    type: is_firing ? 'alert.fired' : 'alert.resolved',
    timestamp: now,
    data: toData(alert, is_firing ? now : alert.state_since),
  };
}

type Subject = Omit<MeasuredAlert, 'webhook_url' | 'channels' | 'state' | 'state_since' | 'muted'>;

function toData({ id: alert_id, ...alert }: Subject, fired_at: string): AlertMessage['data'] {
  const { name, measure, threshold, window_minutes, workflow_id, budget_id, value } = alert;
  return { alert_id, name, measure, threshold, window_minutes, workflow_id, budget_id, value, fired_at };
}

/** Returns where a message goes, for its history: the host of an address, or a recipient. */
export const showAddress = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);
