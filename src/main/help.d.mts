export function answerTo(args: string[], version: string): string | null;
export function listOfCommands(): string;
export function isRemote(name: string): boolean;
export function wordsByCommand(): Record<string, string[]>;
