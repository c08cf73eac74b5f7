/** Why the end of a run refuses messages that it has not read, by the code that is stored. */
const REASONS: Record<string, string> = {
  stopped: 'The run was stopped before it read this message; send the message again',
  not_followed: 'The run ended before it read this message, and no run follows a fork whose tools are not called; send it again',
};

/** Returns the sentence for a stored reason, which may be one already. */
export const formatReason = (reason: string) => REASONS[reason] ?? reason;

/** Why a message was refused whose own turn was stopped before its first step. */
export const STOPPED_UNBEGUN = 'The turn was stopped before it began';
