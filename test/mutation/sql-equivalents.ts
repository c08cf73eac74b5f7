/** Changes of SQL that no input can show, each with the reason. */
export const EQUIVALENT: readonly { name: string; was: string; becomes: string; reason: string }[] = [];
