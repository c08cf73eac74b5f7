import { toolDestination } from '../../../domain/destinations.ts';
import { AppError, notFound } from '../../../domain/errors.ts';
import { toGradedText } from '../../../domain/grading.ts';
import { type JudgedAnswer, verdictOfTool } from '../../../domain/judging.ts';
import type { Store } from '../../../store/index.ts';
import type { GraderPorts } from '../../../temporal/activities/graders.ts';
import { resolveEnv } from '../../../tools/python.ts';
import type { SharedServices } from '../../core.ts';
import { argumentFitter } from '../parsers.ts';

type Tool = NonNullable<Awaited<ReturnType<Store['customTools']['find']>>>;

export const createEvaluationCheck =
  ({ store, mayStart }: Pick<SharedServices, 'store' | 'mayStart'>): GraderPorts['authorizeEvaluation'] =>
  async (evaluation_id, { uses_token }) => {
    const work = await store.evaluations.leftToRun(evaluation_id);
    if (!work) throw notFound('evaluation', evaluation_id);
    const refusal = await mayStart(work, { noun: 'evaluation', uses_token });
    if (refusal !== null) throw new AppError('forbidden', refusal, { code: 'owner_may_not_run' });
    return uses_token ? work.access_token : null;
  };

/** Calls custom tools that grade answers, in the sandbox of tool calls and with the owner's stored tokens. */
export function graderCaller(core: Pick<SharedServices, 'store' | 'runner' | 'parsers' | 'setting'>): GraderPorts['callGrader'] {
  const { store, runner } = core;
  const fitArguments = argumentFitter(core);
  return async ({ tool_id, owner, call_key, judged_answer }, signal) => {
    const tool = await store.customTools.find(tool_id);
    if (!tool) return { fault: `No custom tool with id ${tool_id}: it was deleted after the evaluation had started` };
    const { name, source_code: source, parameters_schema: parameters, network } = tool;
    if (!tool.is_enabled) return { fault: `The custom tool ${name} is disabled; enable it and start another evaluation` };
    const fit = await fitArguments({ name, parameters }, { arguments: pickArguments(tool, judged_answer), run: { owner } });
    if ('refusal' in fit) return { fault: `The custom tool ${name} was not called: ${fit.refusal}` };
    const resolved = await resolveEnv(toEnvMapping(tool), (token, variable) =>
      store.tokens.open({ name: token, principal: owner, destination: toolDestination(tool, variable) }),
    );
    if ('refusal' in resolved) return { fault: `The custom tool ${name} was not called: ${resolved.refusal}` };
    const call = { name, source, arguments: fit.arguments, env: resolved.env, call_key, network };
    const { result, error } = await runner.run(call, signal);
    if (error !== null) return { fault: `The custom tool ${name} failed: ${error}` };
    return verdictOfTool(JSON.parse(result));
  };
}

const toEnvMapping = ({ env_config = {} }: Tool) =>
  Object.fromEntries(Object.entries(env_config).map(([variable, { token_name }]) => [variable, token_name ?? null]));

/** Returns the arguments that the tool accepts. JSON is converted to text for a text parameter. */
function pickArguments({ parameters_schema }: Tool, judged_answer: JudgedAnswer): Record<string, unknown> {
  const { properties = {} } = parameters_schema as { properties?: Record<string, { type?: unknown }> };
  return Object.fromEntries(
    Object.entries(judged_answer)
      .filter(([name]) => name in properties)
      .map(([name, value]) => [name, properties[name]?.type === 'string' && value !== null ? toGradedText(value) : value]),
  );
}
