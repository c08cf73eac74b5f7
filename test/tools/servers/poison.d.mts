export function startPoisonServer(): Promise<{ url: string; stop(): Promise<void> }>;
