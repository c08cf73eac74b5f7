import { z } from 'zod';
import { alsoTaken, FilterQuery, JsonRecord, Name, otherNames, protective, Tags, toPatchSchema } from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';

export const GUARDRAIL_TYPES = ['prompt', 'request', 'output'] as const;
const GUARDRAIL_ACTIONS = ['block', 'redact', 'warn'] as const;

const Patterns = z.array(z.string().min(1)).default([]).meta({
  description:
    'RE2 syntax; matched in linear time. At most GUARDRAIL_PATTERNS (100), each of at most GUARDRAIL_PATTERN_CHARACTERS (1,000)',
});
const Length = z.int().min(0).nullable().default(null);

const shape = {
  forbidden_patterns: Patterns,
  required_patterns: Patterns,
  min_length: Length,
  max_length: Length,
};

/** The configuration of each kind of guardrail. Lengths are in characters. */
const PromptConfig = protective(z.object(shape)).meta({ id: 'PromptGuardrailConfig' });
const RequestConfig = protective(
  z.object({
    json_schema: z.record(z.string(), z.unknown()).meta({
      description: 'The prompt must be JSON that it accepts. At most GUARDRAIL_SCHEMA_CHARACTERS (65,536) as JSON',
    }),
  }),
).meta({ id: 'RequestGuardrailConfig' });
const OutputConfig = protective(
  z.object({
    forbidden_patterns: Patterns,
    required_patterns: Patterns,
    max_length: Length,
    pii_detection: z
      .boolean()
      .default(false)
      .meta({ description: 'E-mail, phone, card, IBAN, IP address, US social security number' }),
    must_be_valid_json: z.boolean().default(false),
    action: z.enum(GUARDRAIL_ACTIONS).default('warn'),
  }),
).meta({ id: 'OutputGuardrailConfig' });

export const GUARDRAIL_CONFIGS = { prompt: PromptConfig, request: RequestConfig, output: OutputConfig } as const;

export const GuardrailCreate = z
  .object({
    name: Name.meta({ example: 'no-secrets' }),
    description: z.string().default(''),
    guardrail_type: z.enum(GUARDRAIL_TYPES).meta({ description: 'Fixed once created' }),
    enabled: z.boolean().default(true),
    tags: Tags,
    config: alsoTaken(protective(z.record(z.string(), z.unknown())), {
      names: GUARDRAIL_TYPES.map((type) => `${type}_config`),
      nameFor: ({ guardrail_type }) => `${guardrail_type}_config`,
    })
      .default({})
      .meta({ description: 'Fields of the configuration of this type', example: { forbidden_patterns: ['(?i)password'] } }),
  })
  .meta({ id: 'GuardrailCreate' });
export type GuardrailValues = z.output<typeof GuardrailCreate>;

export const GuardrailUpdate = toPatchSchema(GuardrailCreate).meta({ id: 'GuardrailUpdate' });

export const Guardrail = z
  .object({ ...JsonRecord, ...GuardrailCreate.shape, ...otherNames(GuardrailCreate.shape) })
  .meta({ id: 'Guardrail' });
export type Guardrail = z.output<typeof Guardrail>;

const GuardrailCheck = z
  .object({
    passed: z.boolean(),
    action: z.enum(GUARDRAIL_ACTIONS).nullable().meta({ description: 'What would be done; null when the text passes' }),
    violations: z.array(z.string()),
    text: z.string().nullable().meta({ description: 'What would be let through; null when nothing would' }),
  })
  .meta({ id: 'GuardrailCheck' });

export const guardrails = {
  ...crud(
    { path: '/api/guardrails', noun: 'guardrail', tag: 'Guardrails', shared: true },
    {
      record: Guardrail,
      create: GuardrailCreate,
      update: GuardrailUpdate,
      query: FilterQuery.extend({ guardrail_type: z.enum(GUARDRAIL_TYPES).optional() }),
    },
  ),
  check: endpoint('POST /api/guardrails/{id}/check', {
    operation: 'check_guardrail',
    access: 'read',
    tag: 'Guardrails',
    summary: 'Try a text against a guardrail',
    description: 'Works for a disabled guardrail too. Nothing is stored.',
    params: IdParams,
    body: z.object({ text: z.string() }).meta({ id: 'GuardrailCheckRequest', example: { text: 'my password is …' } }),
    reply: GuardrailCheck,
  }),
};
