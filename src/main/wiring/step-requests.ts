import type { StepRequestBuilder } from '../../api/ports.ts';
import { callSettings } from '../../contracts/call-settings.ts';
import type { RunBundle } from '../../contracts/run-bundles.ts';
import type { StepRequest } from '../../contracts/run-inspection.ts';
import { type Definition, getAskedModel, usesVendorApi } from '../../domain/definition.ts';
import { getDialect } from '../../domain/dialect.ts';
import { AppError } from '../../domain/errors.ts';
import { applyFallback } from '../../domain/fallback.ts';
import { toPinnedFields } from '../../domain/fork-changes.ts';
import { KNOWLEDGE_POSITION, MEMORY_POSITION, type TranscriptMessage } from '../../domain/transcript.ts';
import { rebuildExchange } from '../../replay/exchange-at.ts';
import { chatRequest } from '../../runtimes/chat-request.ts';
import { messagesRequest } from '../../runtimes/messages-request.ts';
import type { Exchange } from '../../runtimes/runtime.ts';
import type { RunRecord } from '../../store/runs/inspection.ts';
import { type BundleServices, loadBundle } from './bundles.ts';

/** Rebuilds the requests that models of runs were sent, from the record. */
export const createStepRequestBuilder =
  (core: BundleServices): StepRequestBuilder =>
  async (task, step, caller) =>
    buildStepRequest(await loadBundle(core, task, caller), step);

interface RecordedRun {
  bundle: RunBundle;
  /** As the run is pinned to it. */
  definition: Definition;
  record: { events: Pick<RunRecord['events'][number], 'data'>[]; task: { toolset: unknown } };
}

/** Rebuilds the request that the model was sent at a step. Throws 404 if the run has not reached the step. */
export async function buildStepRequest({ bundle, definition: pinned, record }: RecordedRun, step: number): Promise<StepRequest> {
  const recorded_step = bundle.steps.find((one) => one.step === step);
  if (!recorded_step) throw new AppError('not_found', `This run has no step ${step}; it has reached step ${bundle.steps.length}`);
  const definition = applyFallback(pinned, recorded_step.fallback ?? 0);
  const exchange = await rebuildExchange(bundle, step);
  const changes = recorded_step.copied ? listChanges(record) : [];
  // The definition names the model of the fork, which was not asked at this step.
  const asks_otherwise = changes.some((field) => MODEL_CHANGES.includes(field));
  const model = (asks_otherwise ? null : getAskedModel({ ...definition, model: exchange.model })) ?? recorded_step.model;
  const keeps_context = bundle.runtime.keeps_context && definition.provider?.id === pinned.provider?.id;
  return {
    step,
    model,
    instructions: exchange.instructions,
    system_prompt: bundle.definition.agent.system_prompt,
    skills: bundle.definition.skills,
    messages: exchange.transcript.map(requestMessage),
    tools: [
      ...(exchange.hosted_tools ?? []).map(({ type, name, ...parameters }) => ({
        name,
        description: ranThere(type),
        parameters,
      })),
      ...exchange.tools.map(({ name, description, parameters: schema }) => ({ name, description, parameters: schema })),
    ],
    parameters: keeps_context ? {} : toParameters(exchange, { model: model ?? '', definition }),
    changeable: {
      ...callSettings(pinned.settings),
      ...toPinnedFields(pinned),
      system_prompt: bundle.definition.agent.system_prompt,
    },
    not_rebuilt: describeLimits(definition, {
      copied_otherwise: changes.length > 0,
      keeps_context,
      has_toolset: record.task.toolset !== null,
    }),
  };
}

const ranThere = (type: string) => `Run by the provider: ${type}`;

function toParameters(exchange: Exchange, { model, definition: { provider } }: { model: string; definition: Definition }) {
  const request =
    provider && usesVendorApi(provider)
      ? { ...messagesRequest(exchange, model), stream: true }
      : chatRequest(exchange, model, getDialect(provider, model));
  const { model: _model, messages: _messages, tools: _tools, ...parameters } = request;
  if ('system' in parameters) delete parameters.system;
  return parameters as Record<string, unknown>;
}

const CONTEXTS: Record<number, string> = { [MEMORY_POSITION]: 'memories', [KNOWLEDGE_POSITION]: 'knowledge' };

const requestMessage = ({ kind, ...message }: TranscriptMessage) => ({
  ...message,
  kind: kind === 'context' ? CONTEXTS[message.position]! : kind,
});

/** The changes of a fork that make it ask another model than its source. */
const MODEL_CHANGES = ['model', 'provider_id'];

/** Returns the names of the fields that a fork was given changes of; empty: the run is not a fork, or has none. */
const listChanges = ({ events }: Pick<RecordedRun['record'], 'events'>): string[] =>
  events.flatMap(({ data }) => (data.event === 'forked' ? (data.changes ?? []) : []));

interface RebuildLimits {
  /** True if the step was copied into a fork that has changes. */
  copied_otherwise: boolean;
  keeps_context: boolean;
  has_toolset: boolean;
}

function describeLimits(definition: Definition, { copied_otherwise, keeps_context, has_toolset }: RebuildLimits) {
  const { tools, mcp_servers = [], provider } = definition;
  const sentences: string[] = [];
  if (copied_otherwise)
    sentences.push('This step was copied into a fork with changes. The source run sent the request without the changes.');
  if (keeps_context)
    sentences.push(
      `The provider ${provider?.name} keeps the conversation: it was sent only the messages that are new since the step before, ` +
        'and lists its own tools itself.',
    );
  if (tools.some(({ kind }) => kind === 'builtin'))
    sentences.push('Built-in tools are described as in this version of Perdura; the run may have been made by another one.');
  if (mcp_servers.length > 0 && !has_toolset)
    sentences.push('The tools of the MCP servers are missing: the servers had not listed them yet.');
  return sentences;
}
