import { readinessOf, useReadiness } from './readiness.ts';

/** What everyone must know on every screen. */
export function Banners() {
  const { data, error } = useReadiness();
  const readiness = readinessOf(data, error);
  return (
    <>
      {readiness.isolation === 'process' && (
        <div className="banner banner-danger" role="alert">
          <strong>Tools run without isolation.</strong> Any custom tool, stdio MCP server or bash command can do whatever the
          service can: read its secrets, its database and its files. Remove <code>TOOL_ISOLATION=none</code> from the settings and
          start again. Until then, run nothing that you would not run as yourself.
        </div>
      )}
      {readiness.isolation === 'refused' && (
        <div className="banner banner-warning" role="status">
          <strong>Tools do not run on this machine:</strong> it cannot confine them. <code>perdura doctor</code> says what is
          missing. Runs without tools work.
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
