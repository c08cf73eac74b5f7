import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { workflows } from '../../contracts/workflows.ts';
import type { ApiProblem, Client } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useWork } from '../api/queries.ts';
import { useNames } from '../resources/references.ts';
import { sentence } from '../ui/sentence.ts';
import { createMaker, type Made, type Service } from './make.ts';
import { buildSteps, type Wishes } from './steps.ts';
import type { ModelChoice } from './use-model.ts';

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

function withLeftovers(problem: ApiProblem, leftovers: string[]): ApiProblem {
  if (leftovers.length === 0) return problem;
  const message = `${sentence(problem.message)} The records created so far (${leftovers.join(', ')}) could not be deleted. Trying again deletes them first`;
  return Object.assign(Object.create(problem), { message });
}

const createService = ({ call }: Client): Service => ({
  create: (endpoint, request) => call(endpoint, request),
  remove: async (endpoint, id) => void (await call(endpoint, { params: { id } })),
  isRefusal: (error) => {
    const { status, code } = error as ApiProblem;
    return status >= 400 && status < 500 && code !== 'idempotency_key_busy';
  },
  isGone: (error) => (error as ApiProblem).status === 404,
  newKey,
});

/** Creates a random key. `crypto.randomUUID` exists only on secure origins. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
