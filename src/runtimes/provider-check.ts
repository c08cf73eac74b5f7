import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { isVendor, type PinnedProvider, usesVendorApi } from '../domain/definition.ts';
import { getDialect } from '../domain/dialect.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import { storable } from '../domain/transcript.ts';
import { chatCompletions } from './chat-completions.ts';
import { ADVICE, toModelFailure } from './failures.ts';
import { listModels, MOST_MODELS } from './listed-models.ts';
import { toVendorFailure } from './managed/failures.ts';
import { messagesRuntime } from './messages.ts';
import {
  type AskedEndpoint,
  findConnectionFault,
  formatModelFault,
  formatNoToolsFault,
  formatNotAnApiFault,
  formatRefusalFault,
  formatUnknownModelFault,
  formatWebPageFault,
} from './provider-faults.ts';
import type { Exchange, ModelRuntime } from './runtime.ts';

/** The result of a test: the models, or the fault and its remedy. */
export interface ProviderCheck {
  models: string[];
  fault: string | null;
}

type Checked = Pick<PinnedProvider, 'provider_type' | 'base_url' | 'api_key_token_name' | 'default_model'>;

const TIME_MS = 60_000;
/** The failure codes of a model that used up its tokens or returned no text: it is reachable. */
const ANSWERED = ['model_length', 'empty_answer'];

/** Lists the models of a provider, then asks its default model one short question, with a tool that it need not call. */
export async function checkProvider(provider: Checked, client: OpenAI | Anthropic, most_ms = TIME_MS): Promise<ProviderCheck> {
  const endpoint = { url: withoutAccount(client.baseURL), has_key: provider.api_key_token_name !== null };
  const listing = await loadModels(client, endpoint);
  const { default_model } = provider;
  // Some endpoints list nothing; there the model itself is the test.
  if (!default_model || (listing.fault !== null && listing.status !== 404))
    return { models: listing.models, fault: listing.fault };
  const models = listing.models;
  if (isVendor(provider)) {
    const is_missing = models.length > 0 && !models.some((id) => sameModel(id, default_model));
    return {
      models: models,
      fault: is_missing ? formatUnknownModelFault(default_model, { known: models, said: null }) : listing.fault,
    };
  }
  const runtime = usesVendorApi(provider)
    ? messagesRuntime({ client: client as Anthropic, default_model })
    : chatCompletions({ client: client as OpenAI, default_model, dialect: (model) => getDialect(provider, model) });
  const ask: Ask = (tool) => askOnce(runtime, tool, most_ms);
  const failure = await ask(TOOL);
  if (!failure) return { models: models, fault: null };
  // Without models and without an answer, nothing is known to be at this address.
  if (listing.fault !== null && failure.status === 404) return { models: [], fault: listing.fault };
  return { models: models, fault: await explainRefusal({ failure, ask, model: default_model, models, endpoint }) };
}

/** Returns an address without credentials, for display. */
function withoutAccount(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname === '/' ? '' : pathname}`;
}

/** True if both names mean one model. Some vendors list models with a prefix, or without the name of the default version. */
const sameModel = (listed_name: string, model: string) =>
  [model, `models/${model}`].includes(listed_name) || listed_name.startsWith(`${model}-`);

/** Asks one question. Returns the failure; null if the model answered. */
type Ask = (tool: typeof TOOL | null) => Promise<ModelFailure | null>;

interface Refused {
  failure: ModelFailure;
  ask: Ask;
  model: string;
  models: readonly string[];
  endpoint: AskedEndpoint;
}

async function explainRefusal({ failure, ask, model, models, endpoint }: Refused): Promise<string> {
  const vendor_message = getVendorMessage(failure.message);
  const status = findMeantStatus(failure);
  if (status !== undefined && status < 500 && ![401, 402, 403, 429].includes(status)) {
    if (!(await ask(null))) return formatNoToolsFault(model, vendor_message);
    if (status === 404 || /model/i.test(vendor_message)) {
      const others = models.filter((id) => !sameModel(id, model));
      return formatUnknownModelFault(model, { known: others, said: vendor_message });
    }
  }
  const has_own_sentence = status !== undefined && status !== 404 && status !== 400;
  return has_own_sentence ? formatRefusalFault(status, vendor_message, endpoint) : formatModelFault(model, vendor_message);
}

/** Returns the status that a refusal means: some vendors report an account without quota, or a refused key, as a bad request. */
function findMeantStatus({ code, status }: ModelFailure): number | undefined {
  if (code === 'quota_exhausted') return 402;
  return code === 'model_unauthorized' && status === 400 ? 401 : status;
}

/** Returns the vendor's message without the words that a run's error adds to it. */
const getVendorMessage = (message: string) =>
  Object.values(ADVICE).reduce(
    (text, advice) => text.replace(`; ${advice}`, ''),
    message.replace(/^The (model's endpoint|provider) answered: (\d{3} )?/, ''),
  );

const TOOL: Exchange['tools'][number] = {
  name: 'no_operation',
  description: 'Does nothing. Do not call it.',
  parameters: { type: 'object', properties: {} },
  effect: 'read',
};

async function askOnce(runtime: ModelRuntime, tool: typeof TOOL | null, most_ms: number): Promise<ModelFailure | null> {
  const exchange: Exchange = {
    task_id: '',
    model: null,
    instructions: '',
    transcript: [QUESTION],
    tools: tool ? [tool] : [],
    reasoning_effort: null,
    wants_json: false,
    cursor: null,
  };
  try {
    await runtime.exchange(exchange, () => {}, AbortSignal.timeout(most_ms));
    return null;
  } catch (error) {
    if (error instanceof ModelFailure) return ANSWERED.includes(error.code) ? null : error;
    if ((error as Error).name !== 'TimeoutError') throw error;
    return new ModelFailure(`nothing within ${most_ms / 1000} s`, { code: 'model_timeout', recoverable: true });
  }
}

const QUESTION = {
  step: 0,
  position: 0,
  role: 'user' as const,
  kind: 'prompt' as const,
  content: 'Answer with the word OK.',
  tool_calls: null,
  call_id: null,
  extra: null,
};

interface Listed {
  models: string[];
  fault: string | null;
  status?: number;
}

async function loadModels(client: OpenAI | Anthropic, endpoint: AskedEndpoint): Promise<Listed> {
  try {
    return client instanceof Anthropic ? await vendorModels(client) : await compatibleModels(client, endpoint);
  } catch (error) {
    const failure = (client instanceof Anthropic ? toVendorFailure(error) : toModelFailure(error)) as ModelFailure;
    const status = findMeantStatus(failure);
    if (status === undefined) return { models: [], fault: storable(findConnectionFault(error, endpoint) ?? failure.message) };
    return { models: [], fault: storable(formatRefusalFault(status, getVendorMessage(failure.message), endpoint)), status };
  }
}

async function vendorModels(client: Anthropic): Promise<Listed> {
  return { models: (await listModels(client)).map(({ id }) => id), fault: null };
}

/** Lists the models from the raw answer: the client would accept a web page as an empty list. */
async function compatibleModels(client: OpenAI, endpoint: AskedEndpoint): Promise<Listed> {
  const response = await client.models.list().asResponse();
  const text = await response.text();
  if ((response.headers.get('content-type') ?? '').includes('html') || /^\s*<(!doctype|html)/i.test(text))
    return { models: [], fault: formatWebPageFault(endpoint) };
  const models = parseModelIds(text);
  return models ? { models, fault: null } : { models: [], fault: formatNotAnApiFault(endpoint) };
}

function parseModelIds(text: string): string[] | null {
  try {
    const { data } = JSON.parse(text) as { data?: { id?: unknown }[] | null };
    // Some servers without any model send null.
    if (data === null) return [];
    return Array.isArray(data)
      ? data.slice(0, MOST_MODELS).flatMap(({ id }) => (typeof id === 'string' ? [storable(id)] : []))
      : null;
  } catch {
    return null;
  }
}
