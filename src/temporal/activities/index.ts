import type { Reconciled } from '../reconciler.ts';
import { beating } from './attempt.ts';
import { type CallToolPorts, callToolActivity } from './call-tool.ts';
import { type ExchangePorts, exchangeActivity } from './exchange.ts';
import { type FinishPorts, finishActivity } from './finish.ts';

export type ActivityPorts = ExchangePorts & CallToolPorts & FinishPorts & { reconcile(): Promise<Reconciled> };

export type RunActivities = ReturnType<typeof runActivities>;

export function runActivities(ports: ActivityPorts) {
  return {
    exchange: exchangeActivity(ports),
    callTool: callToolActivity(ports),
    finish: finishActivity(ports),
    reconcile: () => beating(ports.reconcile),
  };
}
