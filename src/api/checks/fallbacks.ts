import type { Warning } from '../../contracts/common.ts';
import type { StoredFallback } from '../../contracts/fallbacks.ts';
import { getDefaultModel, isVendor, type PinnedProvider } from '../../domain/definition.ts';
import type { FieldError } from '../../domain/errors.ts';
import { KEEPS_CONVERSATIONS } from '../../domain/fallback.ts';
import { isHosted, runsHosted } from '../../domain/hosted-tools.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { describeMissingToken } from './needs.ts';

type Stores = Pick<Store, 'providers' | 'tokens'>;

/** An agent or provider with its fallbacks, and the model that they stand in for. */
interface WithFallbacks {
  fallbacks: readonly StoredFallback[];
  /** The provider that they stand in for; null: the default runtime. */
  provider: Pick<PinnedProvider, 'provider_type' | 'base_url' | 'default_model' | 'azure_deployment'> | null;
  provider_id: string | null;
  model: string | null;
}

/** Lists the fallbacks that no run could use. `known` holds providers that may be missing: the record named them before. */
export async function listFallbackErrors(
  { providers }: Pick<Stores, 'providers'>,
  { fallbacks, provider, provider_id, model }: WithFallbacks,
  known: readonly StoredFallback[] = [],
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  const places = new Set([toKey(provider_id, model)]);
  for (const [index, one] of fallbacks.entries()) {
    const path = `fallbacks.${index}`;
    const found = await findProvider(providers, one.provider_id);
    const asked = one.provider_id === null ? provider : found;
    if (one.provider_id !== null && !found) {
      if (!known.some((before) => before.provider_id === one.provider_id))
        errors.push({ path: `${path}.provider_id`, message: `No provider with id ${one.provider_id}` });
      continue;
    }
    if (asked && isVendor(asked)) {
      const name = found ? `The provider ${found.name}` : 'This provider';
      errors.push({ path: `${path}.provider_id`, message: `${name} ${KEEPS_CONVERSATIONS}` });
      continue;
    }
    const asked_model = one.model ?? (asked && getDefaultModel(asked));
    if (asked_model === null)
      errors.push({ path: `${path}.model`, message: `Name a \`model\`: the provider ${found?.name} has no \`default_model\`` });
    const key = toKey(one.provider_id ?? provider_id, asked_model);
    if (places.has(key)) errors.push({ path, message: 'This model is asked before already; name another one, or leave it out' });
    places.add(key);
  }
  return errors;
}

const toKey = (provider_id: string | null, model: string | null) => JSON.stringify([provider_id, model]);

const findProvider = (providers: Stores['providers'], id: string | null) =>
  id !== null && isUuid(id) ? providers.find(id) : null;

/** Warns about fallbacks that a run of the caller would pass over, or would ask without some of the agent's tools. */
export async function listFallbackWarnings(
  { providers, tokens }: Stores,
  { fallbacks, tool_definitions = [] }: { fallbacks: readonly StoredFallback[]; tool_definitions?: readonly object[] },
  caller: Caller,
): Promise<Warning[]> {
  if (fallbacks.length === 0) return [];
  const usable_names = await tokens.listUsableNames(caller.key);
  const hosted_names = tool_definitions.flatMap((tool) => (isHosted(tool) ? [tool.name] : []));
  const warnings: Warning[] = [];
  for (const [index, { provider_id }] of fallbacks.entries()) {
    const path = `fallbacks.${index}`;
    const provider = await findProvider(providers, provider_id);
    if (provider_id !== null && !provider)
      warnings.push({ path, message: `No provider with id ${provider_id}: runs pass over this fallback` });
    if (!provider) continue;
    const { name, provider_type, api_key_token_name: token } = provider;
    if (token && !usable_names.includes(token)) warnings.push({ path, message: describeMissingToken(token) });
    if (!token && provider_type !== 'openai_compatible') warnings.push({ path, message: `The provider ${name} has no key` });
    if (hosted_names.length > 0 && !runsHosted(provider))
      warnings.push({ path, message: `The provider ${name} does not run ${hosted_names.join(', ')}: it is asked without` });
  }
  return warnings;
}
