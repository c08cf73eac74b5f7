/** Matches what vendors add to the name of a model to state its release: a date, a number of the year, `latest`, `preview`. */
const RELEASE = /^(?:[-@:](?:latest|preview|exp|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{2}-\d{4}|\d{3,8}|v\d{1,2}))*$/;

/**
 * True if an answer's model is the one that was asked for: vendors report the release of a model (`gpt-4o-2024-08-06`), while
 * people ask for its short name (`gpt-4o`, `claude-3-5-haiku-latest`). A longer name such as `gpt-5-pro` is another model than `gpt-5`.
 */
export function isSameModel(reported: string, asked: string): boolean {
  const [name, stem] = [plainName(reported), plainName(asked).replace(/-latest$/, '')];
  return name.startsWith(stem) && RELEASE.test(name.slice(stem.length));
}

/** Removes the vendor or address before the name of a model, as in `openai/gpt-4o`. */
const plainName = (model: string) => model.toLowerCase().split('/').at(-1)!;

/** True for Anthropic's models, also at gateways. */
export const isClaude = (model: string): boolean => /(?:^|[./])claude/i.test(model);
