import { ApplicationFailure } from '@temporalio/activity';
import type { SetCallSettings } from '../../../contracts/call-settings.ts';
import { splitSettings } from '../../../domain/call-settings.ts';
import { type OfferedTool, type PinnedRepository, type ToolSpec, toToolSpec } from '../../../domain/definition.ts';
import { secretRefusal } from '../../../domain/errors.ts';
import { findUnusable } from '../../../domain/fallback.ts';
import { listHostedTools, runsHosted } from '../../../domain/hosted-tools.ts';
import { buildInstructions } from '../../../domain/instructions.ts';
import { dropCalls, ModelFailure } from '../../../domain/model-failure.ts';
import { asLack, findOutage } from '../../../domain/outages.ts';
import type { ShownKinds } from '../../../domain/result-files.ts';
import { findForcedTools } from '../../../domain/tool-choice.ts';
import { storable, type TranscriptMessage } from '../../../domain/transcript.ts';
import { followUsage } from '../../../domain/usage.ts';
import { createTaskEvents, type NewEvent } from '../../../events/task-events.ts';
import type { Exchange, ModelRuntime } from '../../../runtimes/runtime.ts';
import { createCacheKey } from '../cache-key.ts';
import { type Fitted, type FitWork, fitTranscript, isRoomy, readNamedWindow, refitTranscript } from '../fit.ts';
import { listStartEvents } from '../offered.ts';
import { reserve } from '../reserve.ts';
import { RunWaits, reserveCaps } from '../reserve-caps.ts';
import { addPresentPrices, requirePrices } from '../unpriced.ts';
import { dropReservation, type ExchangeAttempt } from './attempt.ts';
import type { StartedStep } from './begin.ts';
import { addGivenFiles } from './given-files.ts';
import type { ModelAnswer } from './record.ts';
import { askWithResultFiles } from './result-files.ts';

/** Sends the transcript to the model and publishes its text as it arrives. Returns `waiting` if a budget does not allow the call. */
export const askModel = (work: ExchangeAttempt, started: StartedStep): Promise<ModelAnswer | 'waiting'> =>
  askWithinBudgets(work, started).catch((error: unknown) => {
    if (error instanceof RunWaits) return 'waiting';
    throw error;
  });

async function askWithinBudgets(work: ExchangeAttempt, started: StartedStep): Promise<ModelAnswer | 'waiting'> {
  const { ports, run, definition, order } = work;
  const { claim, signal } = started;
  if (order.step === 1 && definition.repository) await checkOut(work, definition.repository, started);
  // Nothing is paid for, and no failure noted, before the record counts this attempt.
  const equipped = await equip(work, started).finally(() => claim);
  const { offered } = equipped;
  const priced = await addPresentPrices({ ports, run, definition }, equipped.selected);
  work.prices = priced.prices;
  const selected = { ...priced, runtime: noteAsking(work, priced.runtime) };
  const instructions = buildInstructions(definition);
  const about = { ports, run, definition, step: order.step, selected, instructions, tools: offered.map(toToolSpec) };
  // A summary asks the model, too.
  if ((await requirePrices({ ...about, ports }, selected, listTexts(instructions, started.transcript))) === 'waiting')
    return 'waiting';
  const fit = await fitTranscript(about, started.transcript, signal);
  try {
    return await sendFitted(work, started, { about, fit, offered });
  } catch (error) {
    // What was answered in part was not refused, and costs.
    if (!isRefusedAsLong(error) || error.answer || started.getPublishedTexts().count > 0) throw error;
    // A refused request cost nothing.
    delete work.so_far;
    await dropReservation(work);
    const refit = await refitRefused(about, { fit, refusal: error, started });
    return sendFitted(work, started, { about, fit: refit, offered });
  }
}

/** Notes on the attempt that a model is asked. */
const noteAsking = (work: ExchangeAttempt, runtime: ModelRuntime): ModelRuntime => ({
  ...runtime,
  exchange(...input) {
    work.has_asked = true;
    return runtime.exchange(...input);
  },
});

const isRefusedAsLong = (error: unknown): error is ModelFailure =>
  error instanceof ModelFailure && error.code === 'context_window_full';

/**
 * Compacts what the endpoint refused as longer than the model's window, to be asked once more. Throws the refusal, with the next step for
 * the person, if that is off or impossible.
 */
async function refitRefused(
  about: FitWork,
  { fit, refusal, started }: { fit: Fitted; refusal: ModelFailure; started: StartedStep },
): Promise<Fitted> {
  const { ports, run, definition, step } = about;
  const named = readNamedWindow(refusal.context_window, fit);
  const { log } = createTaskEvents(run.task_id, ports.now);
  const size = named === undefined ? '' : ` The window has ${named} tokens, says the endpoint.`;
  const sentence = `${storable(refusal.message).replace(/\.$/, '')}.${size}`;
  await started.publish([
    log('context_window_full', sentence, { step, ...(named === undefined ? {} : { context_window: named }) }),
  ]);
  if (named !== undefined) await ports.keepWindow(definition, named);
  if (isRoomy(named, fit)) throw new ModelFailure(`${refusal.message}; only about ${fit.tokens} tokens were sent`, refusal);
  const refit = await refitTranscript(about, fit, { named, signal: started.signal });
  if (refit) return refit;
  const advice = definition.settings.infinite_session ? 'the rest cannot be compacted' : 'infinite_session is off';
  throw new ModelFailure(`${refusal.message}; ${advice}`, refusal);
}

interface Sending {
  about: FitWork;
  fit: Fitted;
  offered: OfferedTool[];
}

const listTexts = (instructions: string, transcript: readonly TranscriptMessage[]) => [
  instructions,
  ...transcript.map(({ content }) => content),
];

/** Sends a transcript that fits, unless a budget does not allow it. */
async function sendFitted(
  work: ExchangeAttempt,
  started: StartedStep,
  { about, fit, offered }: Sending,
): Promise<ModelAnswer | 'waiting'> {
  const { ports, definition, order } = work;
  const { selected } = about;
  const { signal } = started;
  work.run = fit.run;
  const asking = { ...about, ports, ...fit };
  if ((await requirePrices(asking, selected, listTexts(about.instructions, fit.transcript))) === 'waiting') return 'waiting';
  if ((await reserve(asking)) === 'waiting') return 'waiting';
  const { max_output_tokens: max_output } = splitSettings(definition.settings).call_settings as SetCallSettings;
  work.reservation = await reserveCaps({ ...asking, max_output });
  const publisher = ports.publisher(started.publishDelta);
  const holds_back_text = ports.holdsBack(definition);
  const { so_far, addPiece, report } = followUsage(fit.tokens);
  let characters = 0;
  const emit = (delta: string) => {
    addPiece(delta);
    characters += delta.length;
    if (!holds_back_text) publisher.push(storable(delta));
  };
  try {
    const with_files = await addGivenFiles(ports, fit.transcript, fit.run);
    work.so_far = so_far;
    const { reply, cursor } = await askWithResultFiles(work, with_files, {
      window: fit.window,
      keeps_context: selected.keeps_context === true,
      ask: (transcript) =>
        selected.runtime.exchange(
          { ...buildExchange(work, { ...about, transcript }), report, reportHidden: addPiece },
          emit,
          signal,
        ),
      onFewer: (kinds, earlier) => started.publish([createFewerEvent(work, kinds, earlier)]),
    });
    await publisher.flush();
    const final_reply = order.tools_off ? dropCalls(reply, lastTask(work)) : reply;
    // A text may turn out to be thinking only after it was published.
    const is_whole = !holds_back_text && publisher.complete() && characters === reply.text.length;
    const published = is_whole ? started.getPublishedTexts() : null;
    return { reply: final_reply, cursor, offered, selected, published };
  } catch (error) {
    // Published text is kept if the run ends here, so publish all of it before reporting the end of the attempt.
    await publisher.flush();
    throw error;
  }
}

/** The event of a request that is sent again because the model did not take the files of tools' results, or those of `earlier` turns. */
const createFewerEvent = ({ ports, run, order }: ExchangeAttempt, kinds: ShownKinds, earlier: boolean): NewEvent => {
  const returned = `the ${kinds === 'none' ? 'images and sounds' : 'sounds'} that tools returned`;
  const taken = earlier ? 'the files of earlier turns and of tools' : returned;
  const sentence = `The model did not take ${taken}; it is asked again without them`;
  return createTaskEvents(run.task_id, ports.now).log('retry', sentence, { step: order.step });
};

/** Returns what the model was asked for once its tools are off, with the next step for the person, for the sentence of a failure. */
const lastTask = ({ order, definition: { settings } }: ExchangeAttempt): string =>
  order.repaired
    ? 'correcting its answer'
    : `answering. Its tool calls are used up: max_turns (${settings.max_turns}); raise it, or say in the system prompt when to stop`;

/** Selects the runtime that asks the model, and the tools offered to it; the first exchange records them. */
async function equip(work: ExchangeAttempt, { claim, first, offered: own_tools, signal, publish }: StartedStep) {
  const { ports, run, definition, order, pinned, position } = work;
  const unusable = findUnusable(pinned, position);
  if (unusable) throw new ModelFailure(unusable, { code: 'fallback_unusable', recoverable: false });
  const selected = await ports.openRuntime(run, definition, claim);
  if (own_tools) return { selected, offered: own_tools };
  const tools_query = { run, definition, runtime: selected, ready: claim, publish };
  const offered = order.tools_off ? [] : await (await ports.listTools(tools_query, signal)).list(signal);
  if (first) await publish(listStartEvents(work, { offered, selected }));
  return { selected, offered };
}

/** Returns the tools of an exchange. If the client forces a call, they are only the tools of which the model must call one. */
function selectTools(
  { run, order, definition }: ExchangeAttempt,
  offered: ToolSpec[],
): Pick<Exchange, 'tools' | 'must_call' | 'hosted_tools'> {
  const forced = order.step === 1 ? definition.forced_tools : findForcedTools(run.messages, order.step - 1);
  const tools = offered.filter(({ name }) => forced?.includes(name));
  if (tools.length > 0) return { tools, must_call: true };
  const hosted_tools = order.tools_off || !runsHosted(definition.provider) ? [] : listHostedTools(definition);
  return { tools: offered, ...(hosted_tools.length > 0 ? { hosted_tools } : {}) };
}

function buildExchange(
  work: ExchangeAttempt,
  { instructions, tools, transcript }: Pick<Exchange, 'instructions' | 'tools' | 'transcript'>,
): Exchange {
  const { run, definition } = work;
  const { model, settings, output_schema } = definition;
  const { call_settings } = splitSettings(settings);
  return {
    task_id: run.task_id,
    model,
    instructions,
    transcript,
    ...selectTools(work, tools),
    reasoning_effort: settings.reasoning_effort,
    // Replays do not know the owner.
    ...(run.owner ? { cache_key: createCacheKey(run) } : {}),
    ...(Object.keys(call_settings).length > 0 ? { call_settings } : {}),
    wants_json: settings.output_format === 'json',
    ...(output_schema ? { output_schema } : {}),
    cursor: run.cursor,
  };
}

/** Fetches the repository that the run works on, before the first model call. */
async function checkOut(
  { ports, run, definition: { workflow } }: ExchangeAttempt,
  repository: PinnedRepository,
  { signal, claim, publish }: StartedStep,
): Promise<void> {
  await claim;
  const { log } = createTaskEvents(run.task_id, ports.now);
  const { commit } = await ports.workspaces.open({ ...run, repository, workflow }, signal).catch(async (error: Error) => {
    signal.throwIfAborted();
    if (findOutage(error)) {
      // This is not the repository's fault: retry the step for as long as the bucket, the database or room on the machine is missing.
      const lack = asLack(error) as Error;
      await publish([log('retry', storable(lack.message), { step: 1 })]).catch(() => {});
      throw lack;
    }
    throw ApplicationFailure.nonRetryable(error.message, secretRefusal(error) ?? 'repository_failed');
  });
  const { url, branch } = repository;
  if (commit) await publish([log('repo_synced', url, { branch, commit })]);
}
