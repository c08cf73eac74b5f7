import type { Warning } from '../../contracts/common.ts';
import { GUARDRAIL_CONFIGS, type Guardrail, type GuardrailValues, guardrails } from '../../contracts/guardrails.ts';
import { type FieldError, unprocessable } from '../../domain/errors.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Records } from '../../store/database/resource.ts';
import type { Store } from '../../store/index.ts';
import { getExisting, mountCrud, type NewRecord, type SharedWrite } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { parseWithWarnings } from '../http/validate.ts';

interface Services {
  store: Store;
  judge: Judge;
}

/** Size limits of one guardrail; each is a setting. */
export interface GuardrailLimits {
  patterns: number;
  pattern_characters: number;
  schema_characters: number;
}

interface Rules {
  shared_write: SharedWrite;
  limits: GuardrailLimits;
}

export function guardrailRoutes(api: Api, { store, judge }: Services, { shared_write, limits }: Rules): void {
  const checkConfig = createConfigCheck(judge, limits);
  const getGuardrail = getExisting(store.guardrails, guardrails.noun);
  const resource: Records<Guardrail, NewRecord<GuardrailValues>, Partial<GuardrailValues>> = {
    ...store.guardrails,
    create: async (values) => store.guardrails.create(await checkConfig(values)),
    async update(id, values) {
      const before = await getGuardrail(id);
      const { guardrail_type = before.guardrail_type, config } = values;
      if (guardrail_type !== before.guardrail_type)
        throw unprocessable([
          {
            path: 'guardrail_type',
            message: `The type stays ${before.guardrail_type}; create another guardrail for another type`,
          },
        ]);
      if (config === undefined) return store.guardrails.update(id, values);
      const { created_by, ...complete } = await checkConfig({ ...values, config, guardrail_type, created_by: before.created_by });
      return store.guardrails.update(id, complete);
    },
  };
  mountCrud(api, guardrails, {
    store: resource,
    list: ({ guardrail_type, ...filter }) => store.guardrails.list(filter, guardrail_type ? { guardrail_type } : {}),
    shared_write,
    listWarnings: async (guardrail) => listGuardrailWarnings(guardrail),
    users: ({ id }, { key }) => store.usersOf('guardrail', id, key),
  });
  mount(api, guardrails.check, async ({ params: { id }, body: { text } }, { key: owner }) => {
    const guardrail = await getGuardrail(id);
    if (guardrail.guardrail_type !== 'output') {
      const { reasons: violations } = await judge.listPromptReasons(guardrail, text, owner);
      const passed = violations.length === 0;
      return { passed, action: passed ? null : ('block' as const), violations, text: passed ? text : null };
    }
    const { findings, text: through } = await judge.judgeAnswer([guardrail], text, { owner });
    const [finding] = findings;
    return { passed: !finding, action: finding?.action ?? null, violations: finding?.reasons ?? [], text: through };
  });
}

type Rule = { [field: string]: unknown };
const holdsNone = (config: Rule, fields: string[]) => fields.every((name) => [config[name] || []].flat().length === 0);

/** Tells apart, by type, valid configurations that let everything pass (true) from those that guard something. */
const GUARDS_NOTHING: { [type in Guardrail['guardrail_type']]: (config: Rule) => boolean } = {
  prompt: (config) => holdsNone(config, ['forbidden_patterns', 'required_patterns', 'min_length']) && config.max_length === null,
  request: ({ json_schema }) => Object.keys(json_schema as object).length === 0,
  output: (config) =>
    holdsNone(config, ['forbidden_patterns', 'required_patterns', 'pii_detection', 'must_be_valid_json']) &&
    config.max_length === null,
};

/** Warns about a guardrail without a rule: it looks like protection and is not. Invalid configurations are refused elsewhere. */
export function listGuardrailWarnings({ guardrail_type, config }: Pick<Guardrail, 'guardrail_type' | 'config'>): Warning[] {
  const schema = GUARDRAIL_CONFIGS[guardrail_type];
  const complete = schema.safeParse(config);
  if (!complete.success || !GUARDS_NOTHING[guardrail_type](complete.data)) return [];
  if (guardrail_type === 'request')
    return [{ path: 'config.json_schema', message: 'An empty schema accepts any JSON: only what is not JSON is refused' }];
  const rules = Object.keys(schema.shape).filter((name) => name !== 'action');
  return [{ path: 'config', message: `This guardrail has no rule and guards nothing; set ${rules.join(', ')}` }];
}

type Configured = Pick<Guardrail, 'guardrail_type' | 'config' | 'created_by'>;

/**
 * Returns the guardrail with its configuration validated for its type and defaults filled in; throws a 422 that lists the invalid
 * fields.
 */
export const createConfigCheck =
  (judge: Judge, limits: GuardrailLimits) =>
  async <G extends Configured>(guardrail: G): Promise<G> => {
    const schema = GUARDRAIL_CONFIGS[guardrail.guardrail_type];
    const { value } = parseWithWarnings(schema, guardrail.config, { what: 'config', base_path: 'config' });
    const config = value as Record<string, unknown>;
    const large = listSizeErrors(config, limits);
    // Sizes are checked before the patterns are compiled.
    const errors = large.length > 0 ? large : await judge.listConfigFaults(config, guardrail.created_by);
    if (errors.length > 0) throw unprocessable(errors);
    return { ...guardrail, config };
  };

function listSizeErrors(config: Record<string, unknown>, limits: GuardrailLimits): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (path: string, message: string) => errors.push({ path: `config.${path}`, message });
  for (const field of ['forbidden_patterns', 'required_patterns']) {
    const patterns = (config[field] ?? []) as string[];
    const { patterns: most, pattern_characters: longest } = limits;
    if (patterns.length > most) {
      refuse(field, `It has ${patterns.length} patterns; a guardrail may have ${most} (GUARDRAIL_PATTERNS)`);
      continue;
    }
    for (const [index, { length }] of patterns.entries()) {
      const limit = `a pattern may have ${longest} (GUARDRAIL_PATTERN_CHARACTERS)`;
      if (length > longest) refuse(`${field}.${index}`, `It has ${length} characters; ${limit}`);
    }
  }
  const { length } = JSON.stringify(config.json_schema ?? {});
  if (length > limits.schema_characters)
    refuse(
      'json_schema',
      `It has ${length} characters; a schema may have ${limits.schema_characters} (GUARDRAIL_SCHEMA_CHARACTERS)`,
    );
  return errors;
}
