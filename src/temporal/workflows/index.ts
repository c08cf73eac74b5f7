export { agentRun } from './agent-run.ts';
export { evaluation } from './evaluation.ts';
export { reconcileTasks } from './reconcile.ts';
export { scheduledRun } from './scheduled-run.ts';
export { webhookDelivery } from './webhook-delivery.ts';
