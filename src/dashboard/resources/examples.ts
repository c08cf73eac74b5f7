/** How a record may look, for a list that has none yet. */
export const EXAMPLES: Record<string, string> = {
  workflows: '“Refund desk”: the agent refunds, at most 12 turns and $0.50 a run',
  agents: '“refunds”: answers customers, may look up orders, has to ask before it pays',
  skills: '“tone of voice”: short sentences, no promises about dates',
  guardrails: '“no card numbers”: redacts them in every answer',
  memories: '“prefers invoices as PDF”, remembered by the agent refunds',
  'custom-tools': '“order_status”: a Python function that takes the number of an order and returns its state',
  mcps: '“github”: the tools of https://api.githubcopilot.com/mcp',
  'knowledge-sources': '“handbook”: the pages that agents may search and cite',
  'knowledge-items': '“returns.pdf”: read, cut into passages and found by their meaning',
  providers: '“OpenAI”: its address, and the stored token with its key',
  tokens: '“openai-key”: kept encrypted; only its name is shown',
  keys: '“nightly job”: may start runs and read them, until the end of the year',
  'scheduled-agents': '“every weekday at 07:00”: sends “Summarise the tickets of yesterday” to Refund desk',
  datasets: '“hard refunds”: 40 prompts, each with the answer that is expected',
  budgets: '“Team, a month”: $200, with a warning at 80 %',
  alerts: '“refunds fail”: if more than 10 % of the runs of an hour failed, send a message',
};
