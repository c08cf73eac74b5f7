import type { BuiltinTool } from '../contracts/builtin-tools.ts';
import type { Mailer } from '../egress/mailer.ts';
import type { SendMessage } from '../egress/message-sender.ts';
import type { ChangeReaders, PublishChange } from '../events/changes.ts';
import type { FollowSource } from '../events/follow.ts';
import type { Judge } from '../guardrails/judge.ts';
import type { CachedIdentity } from '../identity/cached-identity.ts';
import type { AuthorityOf } from '../identity/roles.ts';
import type { Store } from '../store/index.ts';
import type { Engine } from '../temporal/client/engine.ts';
import type { Dispatch } from '../temporal/start/orders.ts';
import type { ToolRunner } from '../toolrunner/runner.ts';
import type { FitArguments } from '../tools/arguments.ts';
import type { Gates } from './http/mount.ts';
import type { RequestSecrets } from './http/redact-replies.ts';
import type {
  BundleBuilder,
  KnowledgeService,
  McpProbe,
  McpSignIns,
  ModelCatalogueService,
  ModelLists,
  StepRequestBuilder,
} from './ports.ts';
import type { EvaluationServices } from './routes/evaluations.ts';
import type { ScheduleServices } from './routes/scheduled-agents.ts';
import type { TaskServices } from './routes/tasks.ts';
import type { AuditTrail } from './service/audit-trail.ts';
import type { Checks } from './service/health.ts';
import type { MetricsSource } from './service/metrics.ts';
import type { BrowserSignIn } from './sign-in/browser-sign-in.ts';

/** The services that the API needs; src/main builds them. */
export interface Services extends Pick<TaskServices, 'findModelPrice'> {
  store: Store;
  engine: Engine;
  /** The source of the streams of runs. */
  following: FollowSource;
  /** The source of the streams of changes. */
  changes: ChangeReaders;
  publishChange: PublishChange;
  dispatch: Dispatch;
  runner: ToolRunner;
  models: ModelLists;
  model_catalogue: ModelCatalogueService;
  mcp: McpProbe;
  mcpSignIns: McpSignIns;
  knowledge: KnowledgeService;
  fitArguments: FitArguments;
  builtin_tools: BuiltinTool[];
  buildBundle: BundleBuilder;
  buildStepRequest: StepRequestBuilder;
  identify: CachedIdentity;
  authorityOf: AuthorityOf;
  /** The dashboard's sign-in; null: the dashboard accepts only tokens. */
  sign_in: BrowserSignIn | null;
  audit: AuditTrail;
  checks: Checks;
  mailer: Mailer;
  sendMessage: SendMessage;
  /** Returns the room on the disk of the home folder, in bytes. */
  measureDisk(): Promise<{ free: number; total: number }>;
  /** The metrics of this process and of the installation. */
  metrics: readonly MetricsSource[];
  judge: Judge;
  /** Lets the runs try again that wait for a budget and fit it now. */
  wakeWaiting(): Promise<void>;
  /** Throws if a write would exceed the caller's storage quota. */
  admitBytes: Gates['admitBytes'];
  schedules: ScheduleServices['schedules'];
  evaluations: EvaluationServices['evaluations'];
  fireNow: ScheduleServices['fireNow'];
  mayStart: ScheduleServices['mayStart'];
  secrets: RequestSecrets;
  /** True if so many statements wait for a database connection that a further request would only time out. */
  isCrowded(): boolean;
}
