import type { PinnedGuardrail } from '../domain/definition.ts';
import { AppError, type FieldError, overLimit } from '../domain/errors.ts';
import { ParserFailure } from '../parsers/failure.ts';
import type { JobInput, JobOutput, JobRules, ParserPool } from '../parsers/pool.ts';

interface Finding {
  guardrail: string;
  action: 'block' | 'redact' | 'warn';
  /** The reasons for a refusal, without quoting the text. */
  reasons: string[];
}

/** The verdict on an answer: the text to let through, or null if it is withheld. */
export interface Verdict {
  findings: Finding[];
  text: string | null;
}

/** The objections to a prompt. `undecided` is set if no guardrail refused it but one could not be judged in time. */
interface Reasons {
  reasons: string[];
  undecided: boolean;
}

/** The refusal of a prompt, with a code for machines. */
export interface Refusal {
  message: string;
  code: 'guardrail_blocked' | 'guardrail_timeout';
}

/** Judges texts in the parser pool. A guardrail that cannot be judged in time refuses the text; it never lets it pass. */
export interface Judge {
  /** Returns the refusal of a prompt, which names the guardrail; null if it is accepted. */
  findRefusal(guardrails: readonly PinnedGuardrail[], prompt: string, owner: string): Promise<Refusal | null>;
  /** Returns the objections of a prompt or request guardrail to a prompt. */
  listPromptReasons(guardrail: PinnedGuardrail, prompt: string, owner: string): Promise<Reasons>;
  /** Applies every output guardrail to an answer in order; each sees what the previous one let through. */
  judgeAnswer(guardrails: readonly PinnedGuardrail[], answer: string, facts: AnswerFacts): Promise<Verdict>;
  /** Lists the faults of a guardrail's patterns and schema, by field. */
  listConfigFaults(config: Record<string, unknown>, owner: string): Promise<FieldError[]>;
  /** Returns the reason why a JSON Schema cannot be applied to answers; null if it can. */
  findSchemaError(schema: Record<string, unknown>, owner: string): Promise<string | null>;
  /** Returns the reasons why a text is not JSON that the schema accepts; empty if it is. */
  listOutputErrors(schema: Record<string, unknown>, text: string, owner: string): Promise<string[]>;
}

interface AnswerFacts {
  owner: string;
  /** False for a text before the final answer; left out: true. */
  final?: boolean;
}

interface JudgeLimits {
  /** The time limit for one guardrail and one text. */
  deadline_ms: number;
  /** The longest wait for a parser process before a request is refused. A run waits as long as it takes. */
  patience_ms: number;
}

/** The rules for final answers, turned off: earlier texts need be neither complete nor JSON. */
const FINAL = { required_patterns: [], must_be_valid_json: false };

const getAction = ({ config }: PinnedGuardrail) => (config as { action?: Finding['action'] }).action ?? 'warn';

/** True if a whole answer must be judged before any of it is shown. */
export const holdsBack = (guardrails: readonly PinnedGuardrail[]) =>
  guardrails.some((guardrail) => guardrail.guardrail_type === 'output' && getAction(guardrail) !== 'warn');

export function createJudge(pool: Pick<ParserPool, 'run'>, { deadline_ms, patience_ms }: JudgeLimits): Judge {
  const toJobRules = (owner: string): JobRules => ({ owner, deadline_ms, patience_ms });

  const findBreaches = (order: JobInput<'answer'>, owner: string): Promise<JobOutput<'answer'>> =>
    pool.run('answer', order, { owner, deadline_ms }).catch((error) => ({ reasons: [explainUndecided(error)], redacted: null }));

  const judge: Judge = {
    async listPromptReasons({ guardrail_type: type, config }, text, owner) {
      if (type !== 'prompt' && type !== 'request') return { reasons: [], undecided: false };
      try {
        return { reasons: await pool.run(type, { config, text }, toJobRules(owner)), undecided: false };
      } catch (error) {
        return { reasons: [explainUndecided(error)], undecided: true };
      }
    },
    async findRefusal(guardrails, prompt, owner) {
      for (const guardrail of guardrails) {
        const outcome = await judge.listPromptReasons(guardrail, prompt, owner);
        const [reason] = outcome.reasons;
        if (!reason) continue;
        const code = outcome.undecided ? 'guardrail_timeout' : 'guardrail_blocked';
        return { message: `The guardrail ${guardrail.name} refuses this prompt: ${reason}`, code };
      }
      return null;
    },
    async judgeAnswer(guardrails, answer, { owner, final = true }) {
      const findings: Finding[] = [];
      let text: string | null = answer;
      for (const guardrail of guardrails) {
        if (guardrail.guardrail_type !== 'output' || text === null) continue;
        const config = { ...guardrail.config, ...(final ? {} : FINAL) };
        const action = getAction(guardrail);
        const outcome = await findBreaches({ config, text }, owner);
        if (outcome.reasons.length === 0) continue;
        findings.push({ guardrail: guardrail.name, action, reasons: outcome.reasons });
        if (action !== 'warn') text = outcome.redacted;
      }
      return { findings, text };
    },
    async listConfigFaults(config, owner) {
      return pool
        .run('config', config, toJobRules(owner))
        .catch((error) => [{ path: 'config', message: explainUndecided(error) }]);
    },
    findSchemaError: (schema, owner) => pool.run('outputSchema', schema, toJobRules(owner)).catch(explainUndecided),
    listOutputErrors: (schema, text, owner) =>
      pool.run('output', { schema, text }, { owner, deadline_ms }).catch((error) => [explainUndecided(error)]),
  };
  return judge;
}

/** Returns a sentence if the text or the guardrail made judging fail; throws every other error. */
function explainUndecided(error: unknown): string {
  if (!(error instanceof ParserFailure)) throw error;
  if (error.kind === 'timeout' || error.kind === 'memory')
    return `it could not be judged: ${error.message}; simplify the guardrail or schema, or send a shorter text`;
  if (error.kind === 'refused') return `it could not be judged: ${error.message}`;
  throw busy(error);
}

const busy = ({ kind, message }: ParserFailure) =>
  kind === 'busy'
    ? overLimit(`The service is parsing too much at once: ${message}`, { code: 'parsers_busy' })
    : new AppError('unavailable', 'The service is stopping; try again shortly');
