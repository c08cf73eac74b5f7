export { agentRun } from './agent-run.ts';
export { webhookDelivery } from './webhook-delivery.ts';
