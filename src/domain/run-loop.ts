/** A tool call of a reply, by its id in the ledger. */
export interface PlannedCall {
  call_id: string;
  name: string;
  /** Set if the call takes milliseconds; absent: it may take long. */
  brief?: true;
}

/** The options of one exchange with the model, besides sending the transcript. */
export interface ExchangeOrder {
  step: number;
  /** The number of tool calls made so far. */
  turns: number;
  /** The calls of the previous round that are answered with a denial. */
  denied: string[];
  /** True to quote the goal after the tool results. */
  remind: boolean;
  /** True to ask for the final answer, with no tools offered. */
  tools_off: boolean;
  /**
   * Set if an answer was rejected before. The next one that does not fit the output schema fails the run; absent: none was
   * rejected.
   */
  repaired?: true;
}

/**
 * The calls to make; none: the final answer is in the transcript. `repair`: the answer was rejected, and the model is asked
 * again. `steered`: messages that waited for the run came after the answer, and the model is asked again with them.
 */
export type ExchangeResult = PlannedCall[] | 'repair' | 'steered';

export interface RunPorts {
  exchange(order: ExchangeOrder): Promise<ExchangeResult>;
  /** Resolves when the call's result is in the transcript. */
  act(call: PlannedCall): Promise<void>;
  /** Returns true if the loop should stop here, to be resumed from the state it returns. */
  renew(): boolean;
}

export interface RunRules {
  /** The number of tool calls that may be made; further ones are denied. */
  max_turns: number;
}

/** The state of a loop between two rounds. */
export interface LoopState {
  step: number;
  turns: number;
  denied: string[];
  denied_rounds: number;
  /** Set if an answer was rejected; absent: none was. */
  repaired?: true;
}

export interface LoopOutcome {
  /** False if the loop stopped to be renewed. */
  ended: boolean;
  state: LoopState;
}

export const START: LoopState = { step: 1, turns: 0, denied: [], denied_rounds: 0 };

/** The number of rounds with a denial before the model must answer without tools. */
const PATIENCE = 2;

/** Runs the agent loop: exchange, act, exchange again, until the model answers without calling a tool. */
export async function runLoop(ports: RunPorts, { max_turns }: RunRules, from: LoopState = START): Promise<LoopOutcome> {
  let state = from;
  while (true) {
    const calls = await ports.exchange({
      step: state.step,
      turns: state.turns,
      denied: state.denied,
      remind: state.turns * 2 > max_turns,
      tools_off: state.denied_rounds >= PATIENCE || state.repaired === true,
      ...(state.repaired ? { repaired: true } : {}),
    });
    if (calls === 'repair') {
      state = { ...state, step: state.step + 1, denied: [], repaired: true };
      if (ports.renew()) return { ended: false, state };
      continue;
    }
    if (calls === 'steered') {
      const { repaired: _repaired, ...rest } = state;
      state = { ...rest, step: state.step + 1, denied: [] };
      if (ports.renew()) return { ended: false, state };
      continue;
    }
    if (calls.length === 0) return { ended: true, state };

    const allowed_calls = calls.slice(0, max_turns - state.turns);
    const denied = calls.slice(allowed_calls.length).map(({ call_id }) => call_id);
    if (allowed_calls.length > 0) await Promise.all(allowed_calls.map((call) => ports.act(call)));
    state = {
      ...state,
      step: state.step + 1,
      turns: state.turns + allowed_calls.length,
      denied,
      denied_rounds: state.denied_rounds + (denied.length > 0 ? 1 : 0),
    };
    if (ports.renew()) return { ended: false, state };
  }
}
