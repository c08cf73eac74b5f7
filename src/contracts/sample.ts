/** The sample that `npm start` creates in a fresh installation, so that the first prompt can be sent at once. */
export const SAMPLE = {
  provider: 'Demo model',
  model: 'perdura-demo',
  tool: 'word_count',
  agent: 'Word counter',
  workflow: 'Sample: count words',
  prompt: 'Use word_count on "durable agents finish what they start" and tell me the result.',
} as const;

export const SAMPLE_TOOL = `def word_count(text: str) -> dict:
    """Counts the words and the characters of a text.

    Args:
        text: the text to count
    """
    return {"words": len(text.split()), "characters": len(text)}
`;

export const SAMPLE_INSTRUCTIONS = 'You count words with your tools and answer briefly.';
