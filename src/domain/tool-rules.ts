import { isClaude } from './model-names.ts';
import { findVendor, OPENAI_HOST, type ProviderAddress, toHost } from './provider-presets.ts';

/**
 * The rules for schemas of tools. `gemini`: a subset of OpenAPI 3.0. `moonshot`: the subset that it publishes. `local`: patterns that become
 * grammars. `standard`: those that all others share.
 */
export type SchemaFamily = 'standard' | 'gemini' | 'moonshot' | 'local';

/** What a vendor accepts as a tool. */
export interface ToolRules {
  family: SchemaFamily;
  /** The names of parameters. `plain`: at most 64 letters, digits, points, underscores and dashes. */
  keys: 'any' | 'plain';
  /** The first character of a name. */
  names: 'any' | 'no_digit_first' | 'letter_first';
  /** The length of a description; null: no known limit. */
  most_description: number | null;
}

const GEMINI_MODELS = /(?:^|\/)gemini/i;
const MOONSHOT_MODELS = /(?:^|\/)(?:kimi|moonshot)/i;
const MOONSHOT_HOSTS = /(?:^|\.)(?:moonshot\.(?:ai|cn)|kimi\.com)$/;
/** The vendors that take a name with a digit first. */
const TAKE_DIGITS = ['openai', 'mistral'];
const OPENAI_DESCRIPTION = 1_024;
/** Matches OpenAI's models at gateways; its open models are served by others. */
const OPENAI_MODELS = /(?:^|\/)openai\/(?!gpt-oss)/i;

/** Returns what an endpoint accepts as a tool of a model. A gateway passes on the rules of the vendor behind it. */
export function getToolRules(provider: ProviderAddress | null, model: string): ToolRules {
  const vendor = provider && findVendor(provider);
  const host = provider ? toHost(provider) : '';
  const native = provider?.provider_type === 'openai' || provider?.provider_type === 'azure_openai' || host === OPENAI_HOST;
  const rules = { keys: 'any', names: 'no_digit_first', most_description: null } as const;
  if (vendor?.id === 'gemini' || GEMINI_MODELS.test(model)) return { ...rules, family: 'gemini' };
  if (MOONSHOT_HOSTS.test(host) || MOONSHOT_MODELS.test(model)) return { ...rules, family: 'moonshot', names: 'letter_first' };
  const is_claude = provider?.provider_type.startsWith('anthropic') || isClaude(model);
  if (is_claude) return { ...rules, family: 'standard', keys: 'plain', names: 'any' };
  if (native || TAKE_DIGITS.includes(vendor?.id ?? ''))
    return { ...rules, family: 'standard', names: 'any', most_description: native ? OPENAI_DESCRIPTION : null };
  if (OPENAI_MODELS.test(model)) return { ...rules, family: 'standard', most_description: OPENAI_DESCRIPTION };
  const is_local = provider !== null && (vendor?.id === 'ollama' || !vendor);
  return { ...rules, family: is_local ? 'local' : 'standard' };
}
