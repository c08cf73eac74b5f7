export { agentRun } from './agent-run.ts';
export { reconcileTasks } from './reconcile.ts';
