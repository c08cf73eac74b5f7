/** The JSON in a text that someone gave, or why it is none. */
export function parsedJson(text: string): { value: unknown } | { wrong: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { wrong: `This is not JSON: ${(error as Error).message}` };
  }
}
