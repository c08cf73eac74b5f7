import { expectCall, explainBlock } from '../../domain/caps.ts';
import { transcriptSize } from '../../domain/compaction.ts';
import { estimateTokens } from '../../domain/context-window.ts';
import type { ModelPrices } from '../../domain/definition.ts';
import { ModelFailure } from '../../domain/model-failure.ts';
import { type Answered, toUsage } from '../../domain/usage.ts';
import { DEFAULT_MODEL } from '../../events/task-events.ts';
import type { Exchange, ModelRuntime } from '../../runtimes/runtime.ts';
import type { CapStore, ChatPayer } from '../../store/runs/caps.ts';
import type { Caps } from '../../temporal/activities/caps.ts';

interface Asked {
  payer: ChatPayer;
  exchange: Exchange;
  prices: ModelPrices;
}

/**
 * Asks the model of a chat within the budgets that apply, and counts what its answer has used. Nobody waits in a chat: a question that
 * does not fit fails with the sentence that names the budget.
 */
export async function askWithinBudgets(
  { caps, store }: { caps: Caps; store: CapStore },
  { payer, exchange, prices }: Asked,
  ask: () => ReturnType<ModelRuntime['exchange']>,
): ReturnType<ModelRuntime['exchange']> {
  const { model, instructions, transcript } = exchange;
  const call = expectCall(estimateTokens(instructions) + transcriptSize(transcript), null, { names: [model], prices });
  const { reservation, answer } = await caps.hold((reservation) => store.reserveForChat({ ...payer, ...call, reservation }));
  if (answer?.blocked) throw new Error(explainBlock(answer.blocked, model ?? DEFAULT_MODEL));
  if (reservation === null) return ask();
  const spend = async (answered: Answered) => {
    const { cost, total_in, total_out } = toUsage(answered, { asked: model, prices });
    await store.spendForChat(payer, { reservation, cost, tokens: total_in + total_out });
  };
  try {
    const answered = await ask();
    await spend(answered.reply);
    return answered;
  } catch (error) {
    if (error instanceof ModelFailure && error.answer) await spend(error.answer);
    throw error;
  } finally {
    await caps.release(reservation);
  }
}
