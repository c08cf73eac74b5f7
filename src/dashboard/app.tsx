import { lazy, Suspense } from 'react';
import { Route, Routes } from 'react-router';
import { useSession } from './api/context.tsx';
import { Overview } from './overview/overview.tsx';
import { CreateDialogContext } from './resources/creating.ts';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './shell/sign-in.tsx';
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
const Chat = lazy(() => import('./chat/chat.tsx'));
const Audit = lazy(() => import('./audit/audit.tsx'));
const System = lazy(() => import('./system/system.tsx'));
const Usage = lazy(() => import('./usage/usage.tsx'));
const Shortcuts = lazy(() => import('./shell/shortcuts.tsx'));
const McpSignIn = lazy(() => import('./resources/mcp-sign-in.tsx'));
const Transfer = lazy(() => import('./transfer/transfer.tsx'));

const CreateDialog = lazy(() => import('./resources/create-dialog.tsx'));
const Make = lazy(() => import('./make/make-page.tsx'));

export function App() {
  const { signed_in } = useSession();
  if (!signed_in) return <SignIn />;
  return (
    <Shell>
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
  );
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
      <Route path="/chat/:agent_id" element={<Chat />} />
      <Route path="/chat/:agent_id/:session_id" element={<Chat />} />
      <Route path="/audit" element={<Audit />} />
      <Route path="/system" element={<System />} />
      <Route path="/usage" element={<Usage />} />
      <Route path="/shortcuts" element={<Shortcuts />} />
      <Route path="/transfer" element={<Transfer />} />
      <Route path="/:resource" element={<ListPage />} />
      <Route path="/:resource/:id" element={<EditPage />} />
      <Route path="*" element={<Nowhere />} />
    </Routes>
  );
}
