import type { Reconciled } from '../reconciler.ts';
import { beating } from './attempt.ts';
import { type CallToolPorts, callToolActivity } from './call-tool.ts';
import { type DeliverPorts, deliverActivity, giveUpDeliveryActivity } from './deliver.ts';
import { type ExchangePorts, exchangeActivity } from './exchange.ts';
import { type FinishPorts, finishActivity } from './finish.ts';
import { type FirePorts, failFireActivity, fireActivity } from './fire.ts';
import { type RememberPorts, rememberActivity } from './remember.ts';

export type ActivityPorts = ExchangePorts &
  RememberPorts &
  CallToolPorts &
  FinishPorts &
  DeliverPorts &
  FirePorts & { reconcile(): Promise<Reconciled> };

export type RunActivities = ReturnType<typeof runActivities>;

export function runActivities(ports: ActivityPorts) {
  return {
    exchange: exchangeActivity(ports),
    callTool: callToolActivity(ports),
    finish: finishActivity(ports),
    remember: rememberActivity(ports),
    fire: fireActivity(ports),
    failFire: failFireActivity(ports),
    deliver: deliverActivity(ports),
    giveUpDelivery: giveUpDeliveryActivity(ports),
    reconcile: () => beating(ports.reconcile),
  };
}
