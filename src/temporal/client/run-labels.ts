import { ATTRIBUTE_BYTES, SUMMARY_BYTES, truncateToBytes } from '../../domain/engine-texts.ts';
import type { RunInput, ShownStatus } from '../names.ts';
import { withPageLink } from './page-links.ts';

/**
 * The data about a run that the engine receives besides its input: for its search attributes in the Temporal UI, and for its
 * priority.
 */
export interface RunLabels {
  /** The owner's login. */
  owner: string;
  /** The owner's id. */
  principal: string;
  trigger: string;
  agent: string;
  workflow: string;
  workflow_id: string;
  model: string | null;
}

const FIRST: ShownStatus = 'running';

/** Returns the texts that the Temporal UI shows for a run. */
export const runTexts = (
  { task_id }: Pick<RunInput, 'task_id'>,
  { workflow, agent, owner }: RunLabels,
  public_url: string | null,
) => ({
  staticSummary: truncateToBytes(`${workflow} · ${agent}`, SUMMARY_BYTES),
  staticDetails: withPageLink(`Task ${task_id} of ${truncateToBytes(owner, SUMMARY_BYTES)}`, public_url, `tasks/${task_id}`),
});

/** Returns a run's search attributes by name. */
export function attributeValues({ owner, agent, workflow, workflow_id, model }: RunLabels): Record<string, string> {
  const values = {
    PerduraOwner: owner,
    PerduraAgent: agent,
    PerduraWorkflow: workflow,
    PerduraWorkflowId: workflow_id,
    ...(model === null ? {} : { PerduraModel: model }),
    PerduraStatus: FIRST,
  };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, truncateToBytes(value, ATTRIBUTE_BYTES)]));
}
