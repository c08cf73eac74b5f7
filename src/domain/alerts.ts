import type { AlertMeasure, AlertState } from './statuses.ts';

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
  state: AlertState;
  /** The time in ISO 8601. */
  state_since: string;
  muted: boolean;
  value: number;
}

/** The message sent when an alert fires or is resolved, in the shape that Standard Webhooks proposes. */
interface AlertMessage {
  type: 'alert.fired' | 'alert.resolved';
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
  /** The message to send; null: nothing is sent, because the alert is muted or names no address. */
  delivery: { url: string; payload: AlertMessage } | null;
}

/**
 * Returns the change if the alert's value has reached the threshold (it fires) or fallen below it (it is resolved); null if
 * nothing has changed.
 */
export function alertChange(alert: MeasuredAlert, now: string): AlertChange | null {
  const { id: alert_id, threshold, value, muted, webhook_url: url } = alert;
  const state = value >= threshold ? 'firing' : 'ok';
  if (state === alert.state) return null;
  const delivery = muted || url === null ? null : { url, payload: toAlertMessage(alert, state, now) };
  return { alert_id, state, value, threshold, muted, delivery };
}

function toAlertMessage({ id: alert_id, ...alert }: MeasuredAlert, state: AlertState, now: string): AlertMessage {
  const { name, measure, threshold, window_minutes, workflow_id, budget_id, value, state_since } = alert;
  const is_firing = state === 'firing';
  const fired_at = is_firing ? now : state_since;
  return {
    type: is_firing ? 'alert.fired' : 'alert.resolved',
    timestamp: now,
    data: { alert_id, name, measure, threshold, window_minutes, workflow_id, budget_id, value, fired_at },
  };
}
