import {
  defineSearchAttributeKey,
  SearchAttributeType,
  TypedSearchAttributes,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import {
  ActivityCancellationType,
  CancellationScope,
  CancelledFailure,
  continueAsNew,
  executeChild,
  log,
  proxyActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { OutstandingGrades } from '../activities/evaluate.ts';
import type { ChildRun } from '../activities/graders.ts';
import type { RunActivities } from '../activities/index.ts';
import { queueOfRole, toRunId, WORKFLOW_TASK_TIMEOUT } from '../names.ts';

const OPTIONS = {
  heartbeatTimeout: '8s',
  // A run that is being created must be on record before the evaluation ends.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  // Retries wait for unavailable services and for the owner's quota.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
} as const;

const { openItems, beginItem, gradeItem, endEvaluation } = proxyActivities<
  Pick<RunActivities, 'openItems' | 'beginItem' | 'gradeItem' | 'endEvaluation'>
>({ ...OPTIONS, startToCloseTimeout: '5 minutes' });
const { gradeByTool } = proxyActivities<Pick<RunActivities, 'gradeByTool'>>({ ...OPTIONS, startToCloseTimeout: '30 minutes' });

const LONGEST_PAUSE_S = 30;

/**
 * Runs an evaluation: one child execution per item, several at once. Its record lists the open items, so it can be started again
 * at any time.
 */
export async function evaluation(id: string): Promise<void> {
  const { item_ids, parallel } = await openItems(id);
  let next = 0;
  const lane = async () => {
    while (next < item_ids.length && !workflowInfo().continueAsNewSuggested) await evaluate(id, item_ids[next++] as string);
  };
  // Wait for all lanes: a halted evaluation ends after its children.
  const lanes = await Promise.allSettled(Array.from({ length: parallel }, lane));
  const halted = CancellationScope.current().consideredCancelled;
  const failed = lanes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed && !halted) throw failed.reason;
  if (next < item_ids.length && !halted) return continueAsNew<typeof evaluation>(id);
  await CancellationScope.nonCancellable(() => endEvaluation(id));
  if (halted) throw new CancelledFailure('The evaluation was halted');
}

async function evaluate(id: string, item_id: string): Promise<void> {
  const child_run = await beginItem(id, item_id);
  if (!child_run) return;
  await runChild(child_run);
  let has_asked_graders = false;
  for (let pause_s = 1; ; ) {
    const item_state = await gradeItem(id, item_id);
    if (item_state === 'settled') return;
    if (item_state !== 'open' && !has_asked_graders) {
      has_asked_graders = true;
      await runGraders({ id, item_id }, item_state);
      continue;
    }
    // Usually a run has ended by now. It continues in another execution if the reconciler started it, or after a restore.
    await sleep(pause_s * 1_000);
    pause_s = Math.min(pause_s * 2, LONGEST_PAUSE_S);
  }
}

/** Runs the judges of an item, each as a child, and calls the tools that grade it. */
async function runGraders(
  { id, item_id }: { id: string; item_id: string },
  { judges, tools, role_queues }: OutstandingGrades,
): Promise<void> {
  const place = role_queues ? { taskQueue: queueOfRole(workflowInfo().taskQueue, 'tools') } : {};
  const tool_gradings = tools.map((at) =>
    gradeByTool.executeWithOptions({ ...place, summary: `grader ${at + 1}` }, [id, item_id, at]),
  );
  await Promise.all([...judges.map(runChild), ...tool_gradings]);
}

/** Runs an item's run as a child, unless it has an execution. Its outcome is on record. */
async function runChild({ run, texts, attributes }: ChildRun): Promise<void> {
  const pairs = Object.entries(attributes).map(([name, value]) => ({
    key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
    value,
  }));
  const options = {
    workflowId: toRunId(run.task_id),
    args: [run],
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    ...texts,
    typedSearchAttributes: new TypedSearchAttributes(pairs),
    workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  };
  try {
    await executeChild('agentRun', options);
  } catch (error) {
    if (CancellationScope.current().consideredCancelled) throw error;
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) log.info('A run of the evaluation did not complete', { error });
  }
}
