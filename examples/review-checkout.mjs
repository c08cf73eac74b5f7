// An agent that reads a git checkout. The repository is cloned into the run's own sandboxed workspace and deleted after the run.
import { api, ensure, provider, report, run } from './perdura.mjs';

const { REPO_URL = 'https://github.com/octocat/Hello-World', REPO_BRANCH, REPO_TOKEN_NAME } = process.env;

const agent = await ensure('/api/agents', {
  name: 'reviewer (example)',
  system_prompt: 'You review code. Read the files before you judge, quote lines, and list at most five findings.',
  provider_id: (await provider()).id,
  builtin_tools: ['read', 'grep', 'glob', 'bash'],
});
const workflow = await api('POST', '/api/workflows', {
  agent_id: agent.id,
  title: 'Review',
  output_format: 'markdown',
  max_turns: 20,
  repo_url: REPO_URL,
  repo_branch: REPO_BRANCH ?? null,
  repo_token_name: REPO_TOKEN_NAME ?? null,
});
report(await run(workflow.id, 'Use glob with "*" to see the files, then tell me what this repository is about.'));
