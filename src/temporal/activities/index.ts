import { withHeartbeats } from './attempt.ts';
import { type CallToolPorts, callToolActivity } from './call-tool.ts';
import { type DeliverPorts, deliverActivity, giveUpDeliveryActivity } from './deliver.ts';
import {
  beginItemActivity,
  type EvaluatePorts,
  endEvaluationActivity,
  gradeItemActivity,
  openItemsActivity,
} from './evaluate.ts';
import type { ExchangePorts } from './exchange/attempt.ts';
import { exchangeActivity, type FirstPorts } from './exchange/index.ts';
import { type FinishPorts, finishActivity } from './finish.ts';
import { type FirePorts, failFireActivity, fireActivity } from './fire.ts';
import { gradeByToolActivity } from './graders.ts';
import type { ReconciledTasks } from './reconciled-tasks.ts';
import { type RememberPorts, rememberActivity } from './remember.ts';

export type ActivityPorts = ExchangePorts &
  FirstPorts &
  RememberPorts &
  CallToolPorts &
  FinishPorts &
  DeliverPorts &
  FirePorts &
  EvaluatePorts & { reconcile(): Promise<ReconciledTasks> };

export type RunActivities = ReturnType<typeof runActivities>;

export function runActivities(ports: ActivityPorts) {
  const { during, runInNewScope } = ports.secrets;
  /** Every activity of a run redacts the run's secrets, also in its failure, which goes into the engine's history. */
  const wrapRunActivity = <A extends unknown[], T>(activity: (task_id: string, ...rest: A) => Promise<T>) => {
    return (task_id: string, ...rest: A): Promise<T> => during(task_id, () => activity(task_id, ...rest));
  };
  const wrapActivity = <A extends unknown[], T>(activity: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> => runInNewScope(() => activity(...args));
  };
  /** Sends heartbeats, so that a lost worker is noticed soon. */
  const wrapEvaluationActivity = <A extends unknown[], T>(activity: (...args: A) => Promise<T>) =>
    wrapActivity((...args: A) => withHeartbeats(() => activity(...args)));
  return {
    exchange: exchangeActivity(ports),
    callTool: wrapRunActivity(callToolActivity(ports)),
    finish: wrapRunActivity(finishActivity(ports)),
    remember: wrapRunActivity(rememberActivity(ports)),
    fire: wrapActivity(fireActivity(ports)),
    failFire: wrapActivity(failFireActivity(ports)),
    deliver: wrapActivity(deliverActivity(ports)),
    giveUpDelivery: wrapActivity(giveUpDeliveryActivity(ports)),
    openItems: wrapEvaluationActivity(openItemsActivity(ports)),
    beginItem: wrapEvaluationActivity(beginItemActivity(ports)),
    gradeItem: wrapEvaluationActivity(gradeItemActivity(ports)),
    gradeByTool: wrapEvaluationActivity(gradeByToolActivity(ports)),
    endEvaluation: wrapEvaluationActivity(endEvaluationActivity(ports)),
    reconcile: wrapActivity(() => withHeartbeats(ports.reconcile)),
  };
}
