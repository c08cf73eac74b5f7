import { useMemo } from 'react';
import { useNavigate } from 'react-router';
import { type Evaluation, EvaluationCreate, evaluations } from '../../contracts/evaluations.ts';
import type { CallInput } from '../api/call.ts';
import { useAct } from '../api/queries.ts';
import { type Field, type Overrides, toFields, type Values } from '../resources/fields.ts';
import { ResourceForm, useForm } from '../resources/form.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { formatRate } from '../ui/figures.ts';
import { formatTime } from '../ui/time.tsx';
import { evaluationTitle, evaluationUrl } from './evaluation-url.ts';
import { GRADERS } from './graders.ts';

const OVERRIDES: Overrides = {
  workflow_id: { control: 'reference', of: 'workflow' },
  definition_hash: { control: 'version', label: 'Version', none: 'as the workflow is now', description: undefined },
  graders: GRADERS,
  effects: {
    label: 'Tool calls',
    description:
      'recorded: a call that the item has on record returns the recorded result; any other call that writes is refused. stub: no tool is called.',
  },
  parallel: { label: 'Runs at once', description: undefined },
};

interface StartProps {
  dataset_id: string;
  /** The earlier evaluations, the newest first: its settings are the defaults. */
  earlier: Evaluation[];
}

export function StartEvaluation(props: StartProps) {
  return (
    <DialogButton label="Start evaluation" title="Start an evaluation" size="lg" needs={evaluations.create.access}>
      <StartForm {...props} />
    </DialogButton>
  );
}

function StartForm({ dataset_id, earlier }: StartProps) {
  const navigate = useNavigate();
  const act = useAct(evaluations.create);
  // The list is read again while the dialog is open; what is offered stays.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  const fields = useMemo(() => buildFields(earlier), []);
  const submit = async (values: Values) => {
    const body = values as CallInput<typeof evaluations.create>['body'];
    const evaluation = await act.mutateAsync({ params: { id: dataset_id }, ...(body && { body }) });
    void navigate(evaluationUrl(evaluation));
    return evaluation;
  };
  const form = useForm({ fields, record: null, place: `evaluation:${dataset_id}`, submit });
  return <ResourceForm needs={evaluations.create.access} form={form} submit="Start" />;
}

/** Builds the fields with the values of the last evaluation, except for the version and the baseline. */
function buildFields(earlier: Evaluation[]): Field[] {
  const last = earlier[0] as Values | undefined;
  return toFields(EvaluationCreate, { ...OVERRIDES, baseline_id: buildBaselineField(earlier) }).map((field) => {
    const value = last?.[field.name];
    return CHOSEN_EACH_TIME.includes(field.name) || value === undefined ? field : { ...field, fallback: value };
  });
}

const CHOSEN_EACH_TIME = ['definition_hash', 'baseline_id'];

/** Builds the choice of an earlier evaluation to compare with. */
function buildBaselineField(earlier: Evaluation[]): Overrides[string] {
  const completed = earlier.filter(({ status }) => status === 'completed');
  return {
    control: 'choice',
    label: 'Find regressions against',
    description: undefined,
    none: 'the last completed evaluation of the workflow',
    hidden: completed.length === 0,
    options: completed.map(({ id }) => id),
    option_labels: Object.fromEntries(completed.map((evaluation) => [evaluation.id, formatName(evaluation)])),
  };
}

/** Names a completed evaluation. */
const formatName = (evaluation: Evaluation) =>
  `${evaluationTitle(evaluation)}, ${formatTime(evaluation.created_at)}, ${formatRate(evaluation.pass_rate!)} passed`;
