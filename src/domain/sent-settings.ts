import { isClaude } from './model-names.ts';

/** A setting of a model call that is not sent, and why. */
interface LeftOutSetting {
  setting: string;
  reason: string;
}

interface SentSettings<S> {
  sent: S;
  left_out: LeftOutSetting[];
}

/** Settings that endpoints refuse unless they are known to take them. */
const OWN_SETTINGS: readonly string[] = ['service_tier', 'verbosity'];

interface Receiver {
  model: string;
  /** Which of those settings the endpoint is known to take for this model; absent: none. */
  takes?: readonly string[];
  /** True for the vendor's own agent sessions. */
  in_sessions?: boolean;
}

interface Sampling {
  temperature?: number | undefined;
  top_p?: number | undefined;
}

/**
 * Divides the settings that have a value into those that a model is sent and those that its vendor does not take. Requests send the first,
 * and the log of a run lists the second, whatever the runtime.
 */
export function divideSettings<S extends Sampling>(
  settings: S,
  { model, takes = [], in_sessions = false }: Receiver,
): SentSettings<S> {
  if (in_sessions) {
    const reason =
      "the vendor's agent sessions take no settings of model calls; set it to null, or use a provider of type anthropic_messages";
    const left_out = Object.keys(settings).map((setting) => ({ setting, reason: `${setting}: ${reason}` }));
    return { sent: {} as S, left_out };
  }
  const left_out = Object.keys(settings).flatMap((setting) => {
    const reason = explainLeftOut(setting, settings, { model, takes });
    return reason === null ? [] : [{ setting, reason: `${setting}: ${reason}` }];
  });
  const names = left_out.map(({ setting }) => setting);
  const sent = Object.fromEntries(Object.entries(settings).filter(([setting]) => !names.includes(setting))) as S;
  return { sent, left_out };
}

/** Returns why a setting is not sent; null: it is. */
function explainLeftOut(
  setting: string,
  { temperature, top_p }: Sampling,
  { model, takes }: { model: string; takes: readonly string[] },
): string | null {
  if (OWN_SETTINGS.includes(setting) && !takes.includes(setting))
    return `this endpoint is not known to take it for ${model || 'its model'}; set it to null`;
  // Anthropic refuses both at once.
  const is_second = setting === 'top_p' && isClaude(model) && top_p !== undefined && temperature !== undefined;
  return is_second ? `${model} takes either temperature or top_p, and both are set; set one of them to null` : null;
}
