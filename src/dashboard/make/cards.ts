import type { z } from 'zod';
import type { ProviderDraft } from '../../contracts/providers.ts';
import { SAMPLE } from '../../contracts/sample.ts';
import { PROVIDER_PRESETS } from '../../domain/provider-presets.ts';

/** The values typed into a card's fields. */
export interface Typed {
  key: string;
  address: string;
  model: string;
}

type Endpoint = Pick<z.input<typeof ProviderDraft>, 'provider_type' | 'base_url' | 'azure_api_version' | 'azure_deployment'>;

/** A model vendor or server, with the fields needed to connect to it. */
export interface Card {
  id: string;
  title: string;
  about: string;
  address?: { label: string; placeholder: string; initial: string };
  key?: { label: string; required: boolean };
  /** The initial model; null if the address contains the model. */
  model: string | null;
  /** True if the initial model is that of the preset with this id, which the installation chooses. */
  is_preset?: boolean;
  /** Returns the endpoint, or an error about the address. */
  endpoint(typed: Typed): Endpoint | { wrong: string };
}

const KEY = { label: 'API key', required: true };
const compatible = (base_url: string): Endpoint => ({ provider_type: 'openai_compatible', base_url });

const getPreset = (id: string) => PROVIDER_PRESETS.find((preset) => preset.id === id)!;

/** Creates the card of a vendor that needs only a key. */
function vendorCard(id: string): Card {
  const { name, provider_type, base_url, key_hint } = getPreset(id);
  return {
    id,
    title: name,
    about: `${key_hint}.`,
    key: KEY,
    model: '',
    is_preset: true,
    endpoint: () => ({ provider_type, base_url }),
  };
}

export const CARDS: readonly Card[] = [
  ...['openai', 'anthropic', 'gemini', 'mistral'].map(vendorCard),
  {
    id: 'ollama',
    title: 'Ollama',
    about: 'Runs on your machine. Needs no API key.',
    address: { label: 'Address', placeholder: 'http://localhost:11434', initial: 'http://localhost:11434' },
    model: '',
    endpoint: ({ address }) => parseServerAddress(address),
  },
  vendorCard('openrouter'),
  {
    ...vendorCard('bedrock'),
    address: {
      label: 'Address with your Region',
      placeholder: getPreset('bedrock').base_url!,
      initial: getPreset('bedrock').base_url!,
    },
    endpoint: ({ address }) => parseServerAddress(address),
  },
  {
    id: 'azure',
    title: 'Azure OpenAI',
    about: 'Uses the target URI and the key from the deployment page.',
    address: { label: 'Target URI', placeholder: 'https://NAME.openai.azure.com/openai/deployments/MODEL/…', initial: '' },
    key: KEY,
    model: null,
    endpoint: ({ address }) => parseDeploymentAddress(address),
  },
  {
    id: 'compatible',
    title: 'Any compatible',
    about: 'llama.cpp, vLLM, LM Studio or another server with the OpenAI API.',
    address: { label: 'Address', placeholder: 'http://127.0.0.1:8000/v1', initial: '' },
    key: { label: 'API key (if required)', required: false },
    model: '',
    endpoint: ({ address }) => parseServerAddress(address),
  },
];

const NOT_AN_ADDRESS = 'Enter an address that starts with http:// or https://';

/** Parses an address. Without a path it gets /v1, under which servers serve their models. */
function parseServerAddress(address: string): Endpoint | { wrong: string } {
  const url = URL.parse(address.trim());
  if (!url || !/^https?:$/.test(url.protocol)) return { wrong: NOT_AN_ADDRESS };
  const path = url.pathname.replace(/\/(chat\/completions|models)?\/?$/, '');
  return compatible(`${url.origin}${path || '/v1'}`);
}

function parseDeploymentAddress(address: string): Endpoint | { wrong: string } {
  const url = URL.parse(address.trim());
  const name = /\/deployments\/([^/]+)/.exec(url?.pathname ?? '')?.[1];
  if (!url || !name)
    return { wrong: 'Enter the target URI of a deployment, such as https://NAME.openai.azure.com/openai/deployments/MODEL/…' };
  return {
    provider_type: 'azure_openai',
    base_url: url.origin,
    azure_deployment: decodeURIComponent(name),
    azure_api_version: url.searchParams.get('api-version'),
  };
}

export type Fault = { field: keyof Typed; message: string };

/**
 * Returns the endpoint that the card describes, or the fields that are missing or wrong. With `testing`, the model is optional.
 */
export function toEndpoint(card: Card, typed: Typed, { testing = false } = {}): { endpoint: Endpoint } | { faults: Fault[] } {
  const faults: Fault[] = [];
  if (card.key?.required && !typed.key.trim()) faults.push({ field: 'key', message: 'Enter the API key' });
  const endpoint = card.endpoint(typed);
  if ('wrong' in endpoint) faults.push({ field: 'address', message: endpoint.wrong });
  if (!testing && card.model !== null && !typed.model.trim())
    faults.push({ field: 'model', message: 'Enter a model, or press Test and choose one' });
  return faults.length > 0 || 'wrong' in endpoint ? { faults } : { endpoint };
}

/** Returns the wanted name, or that name with a number if it is taken. Numbers start at `from`. */
export function freeName(base_name: string, { taken, from = 1 }: { taken: readonly string[]; from?: number }): string {
  for (let number = from; ; number += 1) {
    const name = number === 1 ? base_name : `${base_name}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** True if a provider is the demo model of this installation. */
export const isDemo = ({ default_model }: { default_model: string | null }) => default_model === SAMPLE.model;
