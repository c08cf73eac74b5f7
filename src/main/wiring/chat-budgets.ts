import { expectCall, explainBlock } from '../../domain/caps.ts';
import { transcriptSize } from '../../domain/compaction.ts';
import { estimateTokens } from '../../domain/context-window.ts';
import type { ModelPrices } from '../../domain/definition.ts';
import { ModelFailure } from '../../domain/model-failure.ts';
import { type Answered, followUsage, toUsage, usageSoFar } from '../../domain/usage.ts';
import { DEFAULT_MODEL } from '../../events/task-events.ts';
import type { ModelRuntime } from '../../runtimes/runtime.ts';
import type { CapStore, ChatPayer } from '../../store/runs/caps.ts';
import type { Caps } from '../../temporal/activities/caps.ts';

interface ChatCall {
  payer: ChatPayer;
  prices: ModelPrices;
  /** Hears what a reply that was broken off has used: the budgets count the same. */
  reportBrokenOff: (answered: Answered) => void;
}

/**
 * Returns the exchange of a chat's runtime within the budgets that apply, which counts what its answer has used. Nobody waits in a chat: a
 * question that does not fit fails with the sentence that names the budget.
 */
export const askWithinBudgets =
  (
    runtime: Pick<ModelRuntime, 'exchange'>,
    { caps, store }: { caps: Caps; store: Pick<CapStore, 'reserveForChat' | 'spendForChat'> },
    { payer, prices, reportBrokenOff }: ChatCall,
  ): ModelRuntime['exchange'] =>
  async (exchange, emit, signal) => {
    const { model, instructions, transcript } = exchange;
    const tokens = estimateTokens(instructions) + transcriptSize(transcript);
    const called = { asked: model, answered: [], prices };
    const call = expectCall(tokens, null, called);
    const { reservation, answer } = await caps.hold((reservation) => store.reserveForChat({ ...payer, ...call, reservation }));
    if (answer?.blocked) throw new Error(explainBlock(answer.blocked, called, DEFAULT_MODEL));
    const { so_far, addPiece, report } = followUsage(tokens);
    const emitCounted = (delta: string) => {
      addPiece(delta);
      emit(delta);
    };
    const spend = async (answered: Answered) => {
      if (reservation === null) return;
      const { cost, unpriced_models, total_in, total_out } = toUsage(answered, { asked: model, prices });
      const use = { cost: unpriced_models ? null : cost, tokens: total_in + total_out };
      await store.spendForChat(payer, { reservation, ...use });
    };
    try {
      const answered = await runtime.exchange({ ...exchange, report, reportHidden: addPiece }, emitCounted, signal);
      await spend(answered.reply);
      return answered;
    } catch (error) {
      if (signal.aborted) {
        const answered = usageSoFar(so_far, estimateTokens);
        reportBrokenOff(answered);
        await spend(answered);
      } else if (error instanceof ModelFailure && error.answer) await spend(error.answer);
      throw error;
    } finally {
      if (reservation !== null) await caps.release(reservation);
    }
  };
