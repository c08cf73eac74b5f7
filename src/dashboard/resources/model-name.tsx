import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { agents } from '../../contracts/agents.ts';
import { type Model, models } from '../../contracts/models.ts';
import { type Provider, providers } from '../../contracts/providers.ts';
import { useRead } from '../api/queries.ts';
import type { Values } from './fields.ts';
import { describeModel } from './model-windows.tsx';

interface ModelNameProps extends Omit<AutocompleteProps, 'form' | 'value' | 'onChange'> {
  /** All values of the form. */
  form: Values;
  value: unknown;
  onChange(value: unknown): void;
}

/** Edits the name of a model, with suggestions from the agent's provider, and says what is known about the model that runs will ask. */
export function ModelName({ form, value, onChange, ...common }: ModelNameProps) {
  const agent_id = (form.agent_id || null) as string | null;
  const agent = useRead(agents.get, { params: { id: agent_id ?? '' } }, { enabled: agent_id !== null });
  const provider_id = ((agent_id ? agent.data?.provider_id : form.provider_id) || null) as string | null;
  const provider = useRead(providers.get, { params: { id: provider_id ?? '' } }, { enabled: provider_id !== null });
  const query = provider_id ? { provider_id } : {};
  const list = useRead(models.list, { query }, { enabled: agent_id === null || agent.data !== undefined });
  const listed = list.data ?? [];
  const inherited = findInherited(agent_id === null ? undefined : agent.data, provider_id === null ? undefined : provider.data);
  const known = value ? describeListed(value as string, listed) : inherited && describeInherited(inherited, listed);
  return (
    <Autocomplete
      {...common}
      description={list.error ? `Could not list the models: ${list.error.message}` : (known ?? common.description)}
      placeholder="Default"
      data={[...new Set(listed.map(({ id }) => id))]}
      value={value as string}
      onChange={onChange}
    />
  );
}

interface Inherited {
  model: string;
  /** What names the model, for a sentence. */
  of: string;
}

type NamedAgent = { name: string; model: string | null };
type NamedProvider = Pick<Provider, 'name' | 'provider_type' | 'default_model' | 'azure_deployment'>;

/** Returns the model that runs ask if the field is empty: the agent's, otherwise the provider's. Null: not known. */
function findInherited(agent: NamedAgent | undefined, provider: NamedProvider | undefined): Inherited | null {
  if (agent?.model) return { model: agent.model, of: `the agent ${agent.name}` };
  if (!provider) return null;
  const { name, provider_type, default_model, azure_deployment } = provider;
  // An Azure deployment fixes the model.
  const model = default_model ?? (provider_type === 'azure_openai' ? azure_deployment : null);
  return model ? { model, of: `the provider ${name}` } : null;
}

function describeListed(model: string, listed: readonly Model[]): string | null {
  const found = listed.find(({ id }) => id === model);
  return found ? `${model}: ${describeModel(found)}.` : null;
}

function describeInherited({ model, of }: Inherited, listed: readonly Model[]): string {
  return `If empty, ${of} decides. ${describeListed(model, listed) ?? `${model}.`}`;
}
