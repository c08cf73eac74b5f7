/** The size of a model's context window, and what it is known from. */
export interface ContextWindow {
  tokens: number;
  /**
   * `provider`: the provider's setting. `endpoint`: the endpoint named it when it listed the model or refused a longer request.
   * `known`: the table of known models. `default`: nobody knows it, so DEFAULT_CONTEXT_WINDOW counts.
   */
  from: 'provider' | 'endpoint' | 'known' | 'default';
}

/** The parts of a provider that decide which server and which deployment answers. */
export interface ModelEndpoint {
  provider_type: string;
  base_url: string | null;
  azure_deployment: string | null;
}

/** Returns a text that is equal for equal endpoints only. */
export const describeEndpoint = ({ provider_type, base_url, azure_deployment }: ModelEndpoint): string =>
  JSON.stringify([provider_type, base_url, azure_deployment]);

/** The size of a context window that an endpoint named. */
export interface NamedWindow {
  context_window: number;
  /** As `describeEndpoint` returns it. */
  endpoint: string;
}

/** Returns the size that was named for a provider's model; null if another endpoint named it, which the provider had before. */
export const findNamedSize = (named: NamedWindow | null | undefined, provider: ModelEndpoint): number | null =>
  named?.endpoint === describeEndpoint(provider) ? named.context_window : null;

const BYTES_PER_TOKEN = 4;
/** The tokens that a message costs in addition to its text. */
export const MESSAGE_TOKENS = 4;

/** Estimates how many tokens a text has. The model's tokenizer is not available here, so four bytes count as one token. */
export function estimateTokens(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 1.5;
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
