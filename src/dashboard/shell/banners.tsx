import { summarizeReadiness, useReadiness } from './readiness.ts';

/** Warnings about the installation, on every screen. */
export function Banners() {
  const { data, error } = useReadiness();
  const readiness = summarizeReadiness(data, error);
  return (
    <>
      {readiness.isolation === 'process' && (
        <div className="banner banner-danger" role="alert">
          <strong>Tools run without isolation.</strong> Any custom tool, stdio MCP server or bash command can do whatever the
          service can, such as read its secrets, database and files. Remove <code>TOOL_ISOLATION=none</code> from the settings and
          restart Perdura. Until then, run only code that you trust.
        </div>
      )}
      {readiness.isolation === 'refused' && (
        <div className="banner banner-warning" role="status">
          <strong>Tools do not run on this machine</strong> because it cannot isolate them. Run <code>perdura doctor</code> to see
          what is missing. Runs without tools work.
        </div>
      )}
      {readiness.trouble && (
        <div className="banner banner-warning" role="status">
          <strong>The service is not ready.</strong> {readiness.trouble}
        </div>
      )}
    </>
  );
}
