import type { CompatItem, CompatMessage } from '../../../contracts/compat-requests.ts';
import { type Definition, listClientTools, type ToolSpec } from '../../../domain/definition.ts';
import { AppError } from '../../../domain/errors.ts';
import { isRecord } from '../../../domain/records.ts';
import { refuseChoices } from '../../../domain/tool-choice.ts';
import type { Caller } from '../../../identity/caller.ts';
import { formatCallId, parseCallId } from '../call-ids.ts';
import { answerCalls, type CallOutput, listOpenCalls } from '../client-calls.ts';
import { type CompatRun, type CompatServices, getDefinition } from '../runs.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MOST_TOOLS = 128;
const SCHEMA_CHARACTERS = 64_000;

interface AskedFunction {
  name?: unknown;
  description?: unknown;
  parameters?: unknown;
}

/**
 * Returns the functions that a client executes, from the tools of its request; undefined if it has none. Refuses tools of another
 * type.
 */
export function parseClientTools(
  tools: readonly ({ type: string; function?: unknown } & AskedFunction)[] | null | undefined,
  tool_choice: unknown,
): ToolSpec[] | undefined {
  if (!tools?.length || tool_choice === 'none') return undefined;
  if (tools.length > MOST_TOOLS) throw createRefusal(`A request may have ${MOST_TOOLS} tools`, 'invalid_tools');
  const specs = tools.map((tool) => {
    if (tool.type !== 'function')
      throw createRefusal(`Tools of type ${tool.type} are not supported; only those of type function are`, 'unsupported_value');
    return toToolSpec((tool.function ?? tool) as AskedFunction);
  });
  const names = specs.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw createRefusal(`Two tools are named ${twice}`, 'invalid_tools');
  return specs;
}

function toToolSpec({ name, description, parameters }: AskedFunction): ToolSpec {
  if (typeof name !== 'string' || !NAME.test(name))
    throw createRefusal('The name of a function has 1 to 64 letters, digits, _ and -', 'invalid_tools');
  const schema = parameters ?? { type: 'object', properties: {} };
  if (typeof schema !== 'object' || Array.isArray(schema) || JSON.stringify(schema).length > SCHEMA_CHARACTERS)
    throw createRefusal(
      `The parameters of ${name} have to be a JSON Schema of at most ${SCHEMA_CHARACTERS} characters`,
      'invalid_tools',
    );
  return {
    name,
    description: typeof description === 'string' ? description : '',
    parameters: schema as Record<string, unknown>,
    effect: 'read',
  };
}

const createRefusal = (message: string, code: string, param = 'tools') =>
  new AppError('invalid', message, { code, errors: [{ path: param, message }] });

interface WiredOutput {
  id: string;
  output: string;
}

/** Lists the results at the end of a conversation whose ids show that this installation requested the calls. */
export function listToolOutputs(items: readonly (CompatItem | CompatMessage)[]): WiredOutput[] {
  const outputs = items.map((item) => {
    const { role, tool_call_id, type, call_id, content, output } = item as Record<string, unknown>;
    if (role === 'tool') return { id: String(tool_call_id), output: extractText(content) };
    return type === 'function_call_output' ? { id: String(call_id), output: formatToolOutput(output) } : null;
  });
  const last = outputs.slice(outputs.lastIndexOf(null) + 1) as WiredOutput[];
  return last.every(({ id }) => parseCallId(id)) ? last : [];
}

export const formatValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** True for the parts of a content. The output of a result may be any JSON. */
export const isParts = (value: unknown): value is Record<string, unknown>[] => Array.isArray(value) && value.every(isRecord);

/** Returns a content that is a text, or the texts of its parts. */
export function extractText(content: unknown): string {
  if (typeof content === 'string') return content;
  return isParts(content) ? content.map(({ text }) => (typeof text === 'string' ? text : '')).join('') : '';
}

/** Returns the output of a result as text: what is neither a text nor a list of parts is JSON. */
export const formatToolOutput = (output: unknown): string => (isParts(output) ? extractText(output) : formatValue(output ?? ''));

/** The results of a request, and the functions of which the model must call one next. */
interface Continuing {
  outputs: readonly WiredOutput[];
  forced_tools?: string[] | undefined;
  /** The conversation that the run has to belong to, if the request names one. */
  conversation_id?: string | undefined;
}

/** Continues the run that waits for these results. */
export async function continueRun(
  services: CompatServices,
  { outputs: wired, forced_tools: forced_names, conversation_id }: Continuing,
  caller: Caller,
): Promise<CompatRun> {
  const call_outputs = wired.map(({ id, output }) => ({ ...parseCallId(id)!, output }));
  const task_id = call_outputs[0]!.task_id;
  const unknown = (message: string) => createRefusal(message, 'tool_call_not_found', 'tool_call_id');
  if (call_outputs.some((other) => other.task_id !== task_id)) throw unknown('The results are of calls of different runs');
  const task = await services.store.tasks.find(task_id);
  if (task?.owner !== caller.key) throw unknown(`No call with id ${wired[0]!.id}`);
  if (conversation_id && task.conversation_id !== conversation_id)
    throw createRefusal(
      'The run that waits for these results does not belong to this conversation',
      'invalid_value',
      'conversation',
    );
  const outputs: CallOutput[] = call_outputs;
  const open = await listOpenCalls(services, task);
  const isGiven = ({ call_id }: { call_id: string }) => outputs.some((output) => output.call_id === call_id);
  const missing = open.filter((call) => !isGiven(call));
  // If the request gives none of the open results, it repeats an earlier request.
  if (open.some(isGiven) && missing.length > 0) {
    const ids = missing.map(({ call_id }) => formatCallId(task_id, call_id));
    throw createRefusal(`No tool output found for ${ids.join(', ')}`, 'missing_tool_output', 'input');
  }
  const run = { task_id, workflow_id: task.workflow_id };
  const forced_tools = forced_names && pickForcedTools(await getDefinition(services, run), forced_names);
  await answerCalls(services, run, { outputs, forced_tools, caller });
  return run;
}

/** Returns those of the functions that the run started with. */
function pickForcedTools(definition: Definition, names: string[]): string[] {
  refuseChoices(definition.provider, { forced_tools: names });
  const client_tools = listClientTools(definition);
  const forced = names.filter((name) => client_tools.includes(name));
  if (forced.length > 0) return forced;
  throw createRefusal(
    `The run began without the function ${names.join(', ')}, so it cannot be forced`,
    'invalid_value',
    'tool_choice',
  );
}
