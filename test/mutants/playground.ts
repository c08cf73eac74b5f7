import type { Mutant } from './mutant.ts';

const CHANGES = 'src/domain/fork-changes.ts';
const PLAN = 'src/temporal/start/fork.ts';
const LINES = 'src/dashboard/playground/save-lines.ts';
const unit = (name: string) => [{ file: 'test/unit/fork-changes.test.ts', name }];
const run = (name: string) => [{ file: 'test/temporal/fork-changes.test.ts', name }];
const saved = (name: string) => [{ file: 'test/unit/dashboard-playground.test.ts', name }];

export default [
  {
    id: 'playground/guarded-edits',
    file: PLAN,
    text: "findCopy(edit)?.role === 'user'",
    replacement: "findCopy(edit)?.role === 'system'",
    harm: 'A prompt that a guardrail refuses reaches the model as an edited message.',
    tests: run('if a guardrail of the workflow refuses the text of an edited message'),
  },
  {
    id: 'playground/edits-of-nothing',
    file: PLAN,
    text: 'findCopy(edit) ? [] :',
    replacement: 'findCopy(edit) || edit ? [] :',
    harm: 'A fork is accepted whose edited message the model never gets.',
    tests: run('at the field that is wrong'),
  },
  {
    id: 'playground/trials-are-versions',
    file: 'src/store/runs/tasks.ts',
    text: 'task.is_trial || (from !== undefined && from.definition_hash === null),',
    replacement: 'task.is_trial === true,',
    harm: 'Each trial becomes a version of the workflow that cannot be restored.',
    tests: run('leaves the workflow, its agent and its versions as they are'),
  },
  {
    id: 'playground/replies-of-another-provider',
    file: 'src/store/runs/forks.sql.ts',
    text: 'CASE WHEN :keeps_extra::boolean THEN extra END',
    replacement: 'CASE WHEN :keeps_extra::boolean IS NOT NULL THEN extra END',
    harm: "Another provider refuses a conversation with fields that only the source's provider knows.",
    tests: run('asks another provider, with the key that it may have'),
  },
  {
    id: 'playground/copied-requests',
    file: 'src/main/wiring/step-requests.ts',
    text: 'copied_otherwise: recorded_step.copied && wasChanged(record),',
    replacement: 'copied_otherwise: false,',
    harm: 'A request is shown as sent that the source run sent with another system prompt.',
    tests: run('gives its model another system prompt, effort, format and set of tools'),
  },
  {
    id: 'playground/tools-as-they-were',
    file: CHANGES,
    text: "[...of('custom'), ...parts.tools]",
    replacement: "[...parts.tools, ...of('custom')]",
    harm: 'A trial runs newer code of a tool than its source run, so the two cannot be compared.',
    tests: unit('keep the limits of the source run, and its tools as they were then'),
  },
  {
    id: 'playground/vendor-sessions',
    file: CHANGES,
    text: 'if (changed_definition.provider && isVendor(changed_definition.provider))',
    replacement: 'if (changed_definition.provider && isVendor(changed_definition.provider) && !changed_definition.provider)',
    harm: 'A fork starts in a session at a vendor that knows nothing of the copied conversation.',
    tests: unit('are refused for a provider that keeps conversations itself'),
  },
  {
    id: 'playground/unchanged-fields',
    file: LINES,
    text: 'if (same(from, to)) return [];',
    replacement: '',
    harm: 'Saving a trial of an old run sets back what others have changed since.',
    tests: saved('is only what the draft changes, so that what others changed since stays'),
  },
  {
    id: 'playground/other-items',
    file: LINES,
    text: 'to.includes(item) || !from.includes(item)',
    replacement: 'to.includes(item)',
    harm: 'Saving a trial drops tools of the agent that its run did not have.',
    tests: saved('keeps what a list holds besides, such as a disabled tool'),
  },
] satisfies Mutant[];
