import type { Warning } from '../../contracts/common.ts';
import type { Grader } from '../../contracts/evaluations.ts';
import type { FieldError } from '../../domain/errors.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { tokenNeeds } from '../checks/needs.ts';
import { unknownReferences } from '../checks/references.ts';

interface Services {
  store: Store;
  judge: Judge;
}

type Of<T extends Grader['type']> = Extract<Grader, { type: T }>;

/** What is wrong with graders: patterns and schemas that cannot be applied, and references that the caller cannot use. */
export async function graderErrors(services: Services, graders: readonly Grader[], caller: Caller): Promise<FieldError[]> {
  const found = await Promise.all(graders.map((grader) => errorsOf(services, grader, caller)));
  return found.flatMap((errors, at) => errors.map(({ path, message }) => ({ path: `graders.${at}.${path}`, message })));
}

async function errorsOf({ store, judge }: Services, grader: Grader, caller: Caller): Promise<FieldError[]> {
  const faultsOf = async (path: string, config: Record<string, unknown>) =>
    (await judge.faultsOf(config, caller.key)).map(({ message }) => ({ path, message }));
  switch (grader.type) {
    case 'exact':
      return [];
    case 'regex':
      return faultsOf('pattern', { required_patterns: [grader.pattern] });
    case 'json_schema':
      return faultsOf('json_schema', { json_schema: grader.json_schema });
    case 'model':
      return unknownReferences(store, grader, { provider_id: 'provider' });
    case 'python':
      return toolErrors(store, grader, caller);
  }
}

/** What a grading tool may ask for. */
const GIVEN = ['prompt', 'answer', 'expected'];

async function toolErrors({ customTools }: Store, { tool_id }: Of<'python'>, caller: Caller): Promise<FieldError[]> {
  const tool = await customTools.find(tool_id);
  const refused = (message: string) => [{ path: 'tool_id', message }];
  if (!tool) return refused(`No custom tool with id ${tool_id}`);
  const { name, created_by, is_enabled, parameters_schema } = tool;
  if (created_by !== caller.key) return refused(`The custom tool ${name} belongs to someone else; name one that you created`);
  if (!is_enabled) return refused(`The custom tool ${name} is disabled; enable it first`);
  const { required = [] } = parameters_schema as { required?: string[] };
  const others = required.filter((parameter) => !GIVEN.includes(parameter));
  if (others.length === 0) return [];
  return refused(`The custom tool ${name} needs ${others.join(', ')}; a grader is only given ${GIVEN.join(', ')}`);
}

/** Stored tokens that graders need and the caller cannot use. */
export async function graderDoubts(
  store: Pick<Store, 'tokens' | 'providers' | 'customTools'>,
  graders: readonly Grader[],
  caller: Caller,
): Promise<Warning[]> {
  const tokensOf = async (grader: Grader, at: number) => {
    if (grader.type === 'model' && grader.provider_id !== null) {
      const provider = await store.providers.find(grader.provider_id);
      return [{ path: `graders.${at}.provider_id`, token: provider?.api_key_token_name }];
    }
    if (grader.type !== 'python') return [];
    const { env_config = {} } = (await store.customTools.find(grader.tool_id)) ?? {};
    return Object.values(env_config).map(({ token_name: token }) => ({ path: `graders.${at}.tool_id`, token }));
  };
  const named = (await Promise.all(graders.map(tokensOf))).flat();
  return tokenNeeds<typeof named>(store, (all) => all).doubts(named, caller);
}
