import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Navigate, Route, Routes, useParams } from 'react-router';
import { me } from '../contracts/me.ts';
import { useSession } from './api/context.tsx';
import { useRead } from './api/queries.ts';
import { useChanges } from './api/use-changes.ts';
import { Overview } from './overview/overview.tsx';
import { CreateDialogContext } from './resources/creating.ts';
import { Shell } from './shell/shell.tsx';
import { SignIn, SignInAgain } from './shell/sign-in.tsx';
import { Broken } from './ui/broken.tsx';
import { LiveRegion } from './ui/live.tsx';
import { Nowhere } from './ui/nowhere.tsx';
import { Loading } from './ui/states.tsx';
import { LeaveGuard } from './ui/unsaved.tsx';

const Inbox = lazy(() => import('./inbox/inbox-page.tsx'));
const Tasks = lazy(() => import('./runs/tasks.tsx'));
const TaskPage = lazy(() => import('./runs/task-page.tsx'));
const Playground = lazy(() => import('./playground/playground-page.tsx'));
const Compare = lazy(() => import('./runs/compare.tsx'));
const WorkflowPage = lazy(() => import('./workflows/workflow-page.tsx'));
const DatasetPage = lazy(() => import('./datasets/dataset-page.tsx'));
const EvaluationPage = lazy(() => import('./datasets/evaluation-page.tsx'));
const ListPage = lazy(() => import('./resources/pages.tsx').then((it) => ({ default: it.ListPage })));
const CreatePage = lazy(() => import('./resources/pages.tsx').then((it) => ({ default: it.CreatePage })));
const EditPage = lazy(() => import('./resources/pages.tsx').then((it) => ({ default: it.EditPage })));
const Chat = lazy(() => import('./chat/chat-page.tsx'));
const Audit = lazy(() => import('./audit/audit.tsx'));
const System = lazy(() => import('./system/system.tsx'));
const Usage = lazy(() => import('./usage/usage.tsx'));
const Help = lazy(() => import('./help/help-page.tsx'));
const Shortcuts = lazy(() => import('./shell/shortcuts.tsx'));
const McpSignIn = lazy(() => import('./resources/mcp-sign-in.tsx'));
const Transfer = lazy(() => import('./transfer/transfer.tsx'));

const CreateDialog = lazy(() => import('./resources/create-dialog.tsx'));
const Make = lazy(() => import('./make/make-page.tsx'));

export function App() {
  const { signed_in, person, screens } = useSession();
  useChanges();
  if (!signed_in && person === null) return <SignIn />;
  return (
    <Identified>
      {/* Another person gets another screen. */}
      <Shell key={screens}>
        <LiveRegion />
        <LeaveGuard />
        <Broken>
          <Suspense fallback={<Loading />}>
            <CreateDialogContext value={CreateDialog}>
              <Screens />
            </CreateDialogContext>
          </Suspense>
        </Broken>
      </Shell>
      <SignInAgain />
    </Identified>
  );
}

/** Waits until the service has said who is signed in, because drafts belong to a person. Without its answer, there are none. */
function Identified({ children }: { children: ReactNode }) {
  const { session, signed_in, person } = useSession();
  const { data, dataUpdatedAt, failureCount } = useRead(me.get, {}, { enabled: signed_in });
  const [opened, setOpened] = useState(false);
  const id = data?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer counts; after a sign-in in another tab it may be the same
  useEffect(() => {
    if (id !== undefined) session.identify(id);
  }, [id, dataUpdatedAt, session]);
  if (!opened && (person !== null || failureCount > 0)) setOpened(true);
  return opened && children;
}

/** Leads from the former address of a chat to the screen that begins one. */
function ChatWithAgent() {
  const { agent_id } = useParams();
  return <Navigate to={`/chat?agent_id=${agent_id}`} replace />;
}

/** Leads from the former address of a session to its thread, which has the same id. */
function FormerSession() {
  const { session_id } = useParams();
  return <Navigate to={`/chat/${session_id}`} replace />;
}

function Screens() {
  return (
    <Routes>
      <Route path="/" element={<Overview />} />
      <Route path="/make" element={<Make />} />
      <Route path="/inbox" element={<Inbox />} />
      <Route path="/tasks" element={<Tasks />} />
      <Route path="/tasks/:id" element={<TaskPage />} />
      <Route path="/tasks/:id/playground" element={<Playground />} />
      <Route path="/runs/compare" element={<Compare />} />
      {/* This route comes before the pages of single records: the first match wins. */}
      <Route path="/mcps/sign-in" element={<McpSignIn />} />
      <Route path="/:resource/new" element={<CreatePage />} />
      <Route path="/workflows/:id" element={<WorkflowPage />} />
      <Route path="/datasets/:id" element={<DatasetPage />} />
      <Route path="/datasets/:id/runs/:run_id" element={<EvaluationPage />} />
      <Route path="/chat" element={<Chat />} />
      <Route path="/chat/:thread_id" element={<Chat />} />
      <Route path="/chat/:agent_id/:session_id" element={<FormerSession />} />
      <Route path="/agents/:agent_id/chat" element={<ChatWithAgent />} />
      <Route path="/audit" element={<Audit />} />
      <Route path="/system" element={<System />} />
      <Route path="/usage" element={<Usage />} />
      <Route path="/help" element={<Help />} />
      <Route path="/help/:page" element={<Help />} />
      <Route path="/shortcuts" element={<Shortcuts />} />
      <Route path="/transfer" element={<Transfer />} />
      <Route path="/:resource" element={<ListPage />} />
      <Route path="/:resource/:id" element={<EditPage />} />
      <Route path="*" element={<Nowhere />} />
    </Routes>
  );
}
