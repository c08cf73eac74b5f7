import { agents } from '../../contracts/agents.ts';
import { providers } from '../../contracts/providers.ts';
import { tokens } from '../../contracts/tokens.ts';
import { workflows } from '../../contracts/workflows.ts';
import { freeName, toEndpoint } from './cards.ts';
import type { Step } from './make.ts';
import type { ModelChoice } from './use-model.ts';

/** The settings of the new agent and its workflow other than the model. */
export interface Wishes {
  name: string;
  system_prompt: string;
  custom_tool_ids: string[];
  builtin_tools: string[];
  mcp_server_ids: string[];
  knowledge_source_ids: string[];
  guardrail_ids: string[];
}

interface Plan {
  model: Pick<ModelChoice, 'card' | 'typed' | 'stored' | 'provider_id'>;
  wishes: Wishes;
  token_names: string[];
  attempt: number;
}

/** Returns the records to create for an agent, in order: each may refer to those before it. */
export function buildSteps({ model, wishes: { guardrail_ids, ...agent_wishes }, token_names, attempt }: Plan): Step[] {
  const { card, typed, stored, provider_id } = model;
  const steps: Step[] = [];
  const read = card && toEndpoint(card, typed);
  if (card && read && 'endpoint' in read) {
    const name = freeName(card.id, { taken: stored.map((one) => one.name), from: attempt });
    const key = typed.key.trim();
    if (key) {
      const token = freeName(`${name}-key`, { taken: token_names, from: attempt });
      steps.push({ name: 'token', ...tokens, body: () => ({ name: token, value: key, description: `Key of ${card.title}` }) });
    }
    const provider = { ...read.endpoint, name, default_model: typed.model.trim() || null };
    steps.push({
      name: 'provider',
      ...providers,
      body: ({ token }) => ({ ...provider, ...(token && { api_key_token_name: token.name }) }),
    });
  }
  steps.push({
    name: 'agent',
    ...agents,
    body: ({ provider }) => ({ ...agent_wishes, provider_id: provider?.id ?? provider_id }),
  });
  const workflow = { title: agent_wishes.name, guardrail_ids, output_format: 'markdown', max_turns: 20 };
  steps.push({ name: 'workflow', ...workflows, body: ({ agent }) => ({ ...workflow, agent_id: agent!.id }) });
  return steps;
}
