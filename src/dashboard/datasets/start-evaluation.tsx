import { useMemo } from 'react';
import { useNavigate } from 'react-router';
import { type Evaluation, EvaluationCreate, evaluations } from '../../contracts/evaluations.ts';
import type { CallInput } from '../api/call.ts';
import { useAct } from '../api/queries.ts';
import { type Field, fieldsOf, type Overrides, type Values } from '../resources/fields.ts';
import { ResourceForm, useForm } from '../resources/form.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { evaluationUrl } from './evaluation-url.ts';
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
  baseline_id: { hidden: true },
};

interface StartProps {
  dataset_id: string;
  /** The evaluation whose settings are offered. */
  last: Evaluation | undefined;
}

export function StartEvaluation(props: StartProps) {
  return (
    <DialogButton label="Start evaluation" title="Start an evaluation" size="lg">
      <StartForm {...props} />
    </DialogButton>
  );
}

function StartForm({ dataset_id, last }: StartProps) {
  const navigate = useNavigate();
  const act = useAct(evaluations.create);
  // The list is read again while the dialog is open; what is offered stays.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  const fields = useMemo(() => fieldsOf(EvaluationCreate, OVERRIDES).map((field) => offered(field, last)), []);
  const submit = async (values: Values) => {
    const body = values as CallInput<typeof evaluations.create>['body'];
    const evaluation = await act.mutateAsync({ params: { id: dataset_id }, ...(body && { body }) });
    void navigate(evaluationUrl(evaluation));
    return undefined;
  };
  const form = useForm({ fields, record: null, submit });
  return <ResourceForm form={form} submit="Start" />;
}

/** With the value that the last evaluation had, except for the version. */
function offered(field: Field, last: Evaluation | undefined): Field {
  const value = (last as Values | undefined)?.[field.name];
  return field.name === 'definition_hash' || value === undefined ? field : { ...field, fallback: value };
}
