export function answerTo(args: string[], version: string): string | null;
export function listOfCommands(): string;
