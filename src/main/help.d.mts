import type { Form } from './command-list.mjs';

export function answerTo(args: string[], version: string): string | null;
export function formsOf(name: string, verb?: string): { line: string; form: Form }[];
export function helpOf(name: string, verb?: string): string;
export function usageOf(name: string, verb?: string): string;
export function listOfCommands(): string;
export function isRemote(name: string): boolean;
export function wordsByCommand(): Record<string, string[]>;
