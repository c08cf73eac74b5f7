import { takesOneSampling } from './provider-presets.ts';

/** A setting of a model call that is not sent, and why. */
interface LeftOutSetting {
  setting: string;
  reason: string;
}

interface SentSettings<S> {
  sent: S;
  left_out: LeftOutSetting[];
}

interface Receiver {
  model: string;
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
export function divideSettings<S extends Sampling>(settings: S, { model, in_sessions = false }: Receiver): SentSettings<S> {
  if (in_sessions) {
    const reason =
      "the vendor's agent sessions take no settings of model calls; set it to null, or use a provider of type anthropic_messages";
    const left_out = Object.keys(settings).map((setting) => ({ setting, reason: `${setting}: ${reason}` }));
    return { sent: {} as S, left_out };
  }
  const { top_p, ...others } = settings;
  if (!takesOneSampling(model) || top_p === undefined || settings.temperature === undefined)
    return { sent: settings, left_out: [] };
  const reason = `top_p: ${model} takes either temperature or top_p, and both are set; set one of them to null`;
  return { sent: others as S, left_out: [{ setting: 'top_p', reason }] };
}
