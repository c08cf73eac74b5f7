import type { z } from 'zod';
import type { ProviderDraft } from '../../contracts/providers.ts';
import { SAMPLE } from '../../contracts/sample.ts';

/** What is typed into the fields of a card. */
export interface Typed {
  key: string;
  address: string;
  model: string;
}

type Endpoint = Pick<z.input<typeof ProviderDraft>, 'provider_type' | 'base_url' | 'azure_api_version' | 'azure_deployment'>;

/** A place where models are, with the few facts that lead to it. */
export interface Card {
  id: string;
  title: string;
  about: string;
  /** Besides the model. */
  address?: { label: string; placeholder: string; initial: string };
  key?: { label: string; required: boolean };
  /** The model it begins with; null: the address names it. */
  model: string | null;
  /** The endpoint, or what is wrong with the address. */
  endpoint(typed: Typed): Endpoint | { wrong: string };
}

const KEY = { label: 'API key', required: true };
const compatible = (base_url: string): Endpoint => ({ provider_type: 'openai_compatible', base_url });

export const CARDS: readonly Card[] = [
  {
    id: 'openai',
    title: 'OpenAI',
    about: 'With an API key of platform.openai.com.',
    key: KEY,
    model: 'gpt-4.1-mini',
    endpoint: () => ({ provider_type: 'openai' }),
  },
  {
    id: 'anthropic',
    title: 'Anthropic',
    about: 'Claude, with an API key of console.anthropic.com.',
    key: KEY,
    model: 'claude-sonnet-4-5',
    endpoint: () => ({ provider_type: 'anthropic' }),
  },
  {
    id: 'gemini',
    title: 'Gemini',
    about: 'With an API key of aistudio.google.com.',
    key: KEY,
    model: 'gemini-2.5-flash',
    endpoint: () => compatible('https://generativelanguage.googleapis.com/v1beta/openai'),
  },
  {
    id: 'ollama',
    title: 'Ollama',
    about: 'On a machine of your own. It needs no key.',
    address: { label: 'Address', placeholder: 'http://localhost:11434', initial: 'http://localhost:11434' },
    model: '',
    endpoint: ({ address }) => served(address),
  },
  {
    id: 'openrouter',
    title: 'OpenRouter',
    about: 'Many vendors behind one key of openrouter.ai.',
    key: KEY,
    model: 'openai/gpt-4.1-mini',
    endpoint: () => compatible('https://openrouter.ai/api/v1'),
  },
  {
    id: 'azure',
    title: 'Azure OpenAI',
    about: 'The target URI and the key, as the page of the deployment shows them.',
    address: { label: 'Target URI', placeholder: 'https://NAME.openai.azure.com/openai/deployments/MODEL/…', initial: '' },
    key: KEY,
    model: null,
    endpoint: ({ address }) => deployment(address),
  },
  {
    id: 'compatible',
    title: 'Any compatible',
    about: 'llama.cpp, vLLM, LM Studio or whatever else speaks as OpenAI does.',
    address: { label: 'Address', placeholder: 'http://127.0.0.1:8000/v1', initial: '' },
    key: { label: 'API key (if it asks for one)', required: false },
    model: '',
    endpoint: ({ address }) => served(address),
  },
];

const NOT_AN_ADDRESS = 'Give an address that begins with http:// or https://';

/** An address without a path is that of a server; models are served under /v1. */
function served(address: string): Endpoint | { wrong: string } {
  const url = URL.parse(address.trim());
  if (!url || !/^https?:$/.test(url.protocol)) return { wrong: NOT_AN_ADDRESS };
  const path = url.pathname.replace(/\/(chat\/completions|models)?\/?$/, '');
  return compatible(`${url.origin}${path || '/v1'}`);
}

function deployment(address: string): Endpoint | { wrong: string } {
  const url = URL.parse(address.trim());
  const name = /\/deployments\/([^/]+)/.exec(url?.pathname ?? '')?.[1];
  if (!url || !name)
    return { wrong: 'Give the target URI of a deployment, such as https://NAME.openai.azure.com/openai/deployments/MODEL/…' };
  return {
    provider_type: 'azure_openai',
    base_url: url.origin,
    azure_deployment: decodeURIComponent(name),
    azure_api_version: url.searchParams.get('api-version'),
  };
}

export type Fault = { field: keyof Typed; message: string };

/** What the card and its fields say, or which of them is missing or wrong. `testing`: the model may be left open. */
export function endpointOf(card: Card, typed: Typed, { testing = false } = {}): { endpoint: Endpoint } | { faults: Fault[] } {
  const faults: Fault[] = [];
  if (card.key?.required && !typed.key.trim()) faults.push({ field: 'key', message: 'The API key is needed' });
  const endpoint = card.endpoint(typed);
  if ('wrong' in endpoint) faults.push({ field: 'address', message: endpoint.wrong });
  if (!testing && card.model !== null && !typed.model.trim())
    faults.push({ field: 'model', message: 'Name a model, or press Test and choose one' });
  return faults.length > 0 || 'wrong' in endpoint ? { faults } : { endpoint };
}

/** A name that nothing has yet: the one wanted, or that with a number; numbers begin at `from`. */
export function freeName(wanted: string, { taken, from = 1 }: { taken: readonly string[]; from?: number }): string {
  for (let number = from; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** Whether a provider is the demo model of this installation. */
export const isDemo = ({ default_model }: { default_model: string | null }) => default_model === SAMPLE.model;
