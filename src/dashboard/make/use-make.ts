import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { agents } from '../../contracts/agents.ts';
import { providers } from '../../contracts/providers.ts';
import { tokens } from '../../contracts/tokens.ts';
import { workflows } from '../../contracts/workflows.ts';
import { ApiProblem, type Client } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useWork } from '../api/queries.ts';
import { useNames } from '../resources/references.ts';
import { sentence } from '../ui/sentence.ts';
import { freeName, toEndpoint } from './cards.ts';
import { createMaker, type Made, type Service, type Step } from './make.ts';
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

/** The attempts to find free names for token and provider. Another person's invisible token may already have the name. */
const ATTEMPTS = 3;

/** Creates the token, provider, agent and workflow, and sends the prompt. */
export function useMake(model: ModelChoice) {
  const client = useClient();
  const navigate = useNavigate();
  const token_names = useNames('token').options.map(({ label }) => label);
  const [maker] = useState(() => createMaker(createService(client)));

  async function make(wishes: Wishes): Promise<Made> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await maker.make(buildSteps({ model, wishes, token_names, attempt }));
      } catch (error) {
        if (attempt === ATTEMPTS || (error as ApiProblem).code !== 'name_taken')
          throw withLeftovers(error as ApiProblem, maker.listLeftovers());
      }
    }
  }
  return useWork(
    async ({ wishes, prompt }: { wishes: Wishes; prompt: string }) => {
      const { id } = (await make(wishes)).workflow!;
      if (!prompt.trim()) return void navigate(`/workflows/${id}`);
      try {
        await client.call(workflows.prompt, { params: { id }, body: { prompt } });
        void navigate(`/workflows/${id}`);
      } catch (error) {
        notifications.show({
          message: `The agent was created, but the prompt was not sent: ${sentence((error as ApiProblem).message)}`,
          color: 'red',
          autoClose: false,
        });
        void navigate(`/workflows/${id}`, { state: { prompt } });
      }
    },
    { needs: 'write' },
  );
}

interface Plan {
  model: ModelChoice;
  wishes: Wishes;
  token_names: string[];
  attempt: number;
}

function buildSteps({ model, wishes: { guardrail_ids, ...agent_wishes }, token_names, attempt }: Plan): Step[] {
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

function withLeftovers(problem: ApiProblem, leftovers: string[]): ApiProblem {
  if (leftovers.length === 0) return problem;
  const message = `${sentence(problem.message)} The records created so far (${leftovers.join(', ')}) could not be deleted. Trying again deletes them first`;
  return Object.assign(Object.create(problem), { message });
}

const createService = ({ call }: Client): Service => ({
  create: (endpoint, request) => call(endpoint, request),
  remove: async (endpoint, id) => void (await call(endpoint, { params: { id } })),
  isRefusal: (error) =>
    error instanceof ApiProblem && error.status >= 400 && error.status < 500 && error.code !== 'idempotency_key_busy',
  isGone: (error) => error instanceof ApiProblem && error.status === 404,
  newKey,
});

/** Creates a random key. `crypto.randomUUID` exists only on secure origins. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
