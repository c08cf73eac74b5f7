import type { Warning } from '../../contracts/common.ts';
import type { Grader } from '../../contracts/evaluations.ts';
import type { FieldError } from '../../domain/errors.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { createTokenChecks } from '../checks/needs.ts';
import { listReferenceErrors } from '../checks/references.ts';

interface Services {
  store: Store;
  judge: Judge;
}

type Of<T extends Grader['type']> = Extract<Grader, { type: T }>;

/** Lists the errors of graders: patterns and schemas that cannot be applied, and references that the caller cannot use. */
export async function listGraderErrors(services: Services, graders: readonly Grader[], caller: Caller): Promise<FieldError[]> {
  const errors = await Promise.all(graders.map((grader) => checkGrader(services, grader, caller)));
  return errors.flatMap((errors, at) => errors.map(({ path, message }) => ({ path: `graders.${at}.${path}`, message })));
}

async function checkGrader({ store, judge }: Services, grader: Grader, caller: Caller): Promise<FieldError[]> {
  const checkConfig = async (path: string, config: Record<string, unknown>) =>
    (await judge.listConfigFaults(config, caller.key)).map(({ message }) => ({ path, message }));
  switch (grader.type) {
    case 'exact':
      return [];
    case 'regex':
      return checkConfig('pattern', { required_patterns: [grader.pattern] });
    case 'json_schema':
      return checkConfig('json_schema', { json_schema: grader.json_schema });
    case 'model':
      return listReferenceErrors(store, grader, { provider_id: 'provider' });
    case 'python':
      return checkToolGrader(store, grader, caller);
  }
}

/** The parameters that a grading tool may require. */
const GIVEN = ['prompt', 'answer', 'expected'];

async function checkToolGrader({ customTools }: Store, { tool_id }: Of<'python'>, caller: Caller): Promise<FieldError[]> {
  const tool = await customTools.find(tool_id);
  const refuse = (message: string) => [{ path: 'tool_id', message }];
  if (!tool) return refuse(`No custom tool with id ${tool_id}`);
  const { name, created_by, is_enabled, parameters_schema } = tool;
  if (created_by !== caller.key) return refuse(`The custom tool ${name} belongs to someone else; name one that you created`);
  if (!is_enabled) return refuse(`The custom tool ${name} is disabled; enable it first`);
  const { required = [] } = parameters_schema as { required?: string[] };
  const others = required.filter((parameter) => !GIVEN.includes(parameter));
  if (others.length === 0) return [];
  return refuse(`The custom tool ${name} needs ${others.join(', ')}; a grader is only given ${GIVEN.join(', ')}`);
}

/** Warns about stored tokens that graders need and the caller cannot use. */
export async function listGraderWarnings(
  store: Pick<Store, 'tokens' | 'providers' | 'customTools'>,
  graders: readonly Grader[],
  caller: Caller,
): Promise<Warning[]> {
  const listTokens = async (grader: Grader, at: number) => {
    if (grader.type === 'model' && grader.provider_id !== null) {
      const provider = await store.providers.find(grader.provider_id);
      return [{ path: `graders.${at}.provider_id`, token: provider?.api_key_token_name }];
    }
    if (grader.type !== 'python') return [];
    const { env_config = {} } = (await store.customTools.find(grader.tool_id)) ?? {};
    return Object.values(env_config).map(({ token_name: token }) => ({ path: `graders.${at}.tool_id`, token }));
  };
  const tokens = (await Promise.all(graders.map(listTokens))).flat();
  return createTokenChecks<typeof tokens>(store, (all) => all).listWarnings(tokens, caller);
}
