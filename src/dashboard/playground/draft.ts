import { ForkChanges } from '../../contracts/fork-changes.ts';
import type { StepRequest } from '../../contracts/run-inspection.ts';
import { type Field, toFields, type Values } from '../resources/fields.ts';
import { MODEL_SETTINGS } from '../resources/model-settings.ts';
import { type FieldFault, findChanges, toControls, toWire } from '../resources/values.ts';

export const TRIAL_EFFECTS = ['recorded', 'stub'] as const;

/** The changes to try at a step. */
export interface TrialDraft {
  /** The fields in the form of their controls. */
  controls: Values;
  /** The new texts of messages, by their position. */
  edits: Record<string, string>;
  /** A message before the step. */
  prompt: string;
  effects: (typeof TRIAL_EFFECTS)[number];
}

const FIELDS: Field[] = toFields(ForkChanges, {
  system_prompt: { control: 'long', fallback: '' },
  provider_id: { control: 'reference', of: 'provider', none: 'Default runtime', description: undefined },
  model: { control: 'model', description: undefined },
  custom_tool_ids: { control: 'references', of: 'custom_tool', label: 'Custom tools' },
  builtin_tools: { control: 'references', of: 'builtin_tool', description: undefined },
  mcp_server_ids: { control: 'references', of: 'mcp', label: 'MCP servers' },
  output_format: { fallback: 'json' },
  ...MODEL_SETTINGS,
  messages: { hidden: true },
});

/** Lists the fields. A fork cannot have MCP servers that the run does not have. */
export const listFields = ({ changeable }: StepRequest): Field[] =>
  FIELDS.filter(({ name }) => name !== 'mcp_server_ids' || changeable.mcp_server_ids.length > 0);

export const createDraft = (request: StepRequest): TrialDraft => ({
  controls: toControls(listFields(request), request.changeable),
  edits: {},
  prompt: '',
  effects: 'recorded',
});

export const toMessageKey = ({ step, position }: { step: number; position: number }) => `${step}/${position}`;

/** Sets a control. Another provider has other models, so its default model is selected. */
export const withControl = (draft: TrialDraft, name: string, value: unknown): TrialDraft => {
  const model = name === 'provider_id' && value !== draft.controls.provider_id ? { model: '' } : {};
  return { ...draft, controls: { ...draft.controls, [name]: value, ...model } };
};

/** Returns the values of the fields, with the changes of the draft. */
export const draftValues = (request: StepRequest, { controls }: TrialDraft): Values => ({
  ...request.changeable,
  ...toWire(listFields(request), controls).values,
});

/** Builds the request for the fork that tries the draft. */
export function buildFork(request: StepRequest, draft: TrialDraft) {
  const { step, messages, changeable } = request;
  const { edits, prompt, effects } = draft;
  const message_edits = messages.flatMap((message) => {
    const content = edits[toMessageKey(message)];
    return content === undefined || content === message.content
      ? []
      : [{ step: message.step, position: message.position, content }];
  });
  const changes = {
    ...findChanges(changeable, draftValues(request, draft)),
    ...(message_edits.length > 0 && { messages: message_edits }),
  };
  return {
    from_step: step,
    effects,
    ...(prompt.trim() !== '' && { prompt }),
    ...(Object.keys(changes).length > 0 && { changes }),
  };
}

/** Returns those faults of a refused fork that belong to fields. */
export const listFieldErrors = (errors: readonly FieldFault[]): FieldFault[] =>
  errors.map(({ path, message }) => ({ path: path.replace(/^changes\./, ''), message }));
