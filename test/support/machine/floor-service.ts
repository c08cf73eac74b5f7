import { readConfig } from '../../../src/main/config.ts';
import { openWorker } from '../../../src/main/open-worker.ts';
import { createResources } from '../../../src/main/resources.ts';
import { loadExternalSettings } from '../../../src/main/setting.ts';
import { untilSignal } from '../../../src/main/until-signal.ts';
import { openApi } from '../../../src/main/wiring/api.ts';
import { openRunControl, openSharedServices, openWorkerConnection } from '../../../src/main/wiring/index.ts';
import { quietSdk } from '../../../src/temporal/worker/worker.ts';

// API and worker share one process, as in `npm start`: whatever keeps the worker busy delays the API.
quietSdk('ERROR');
const ended = untilSignal();
const resources = createResources((error) => console.error(error));
const setting = await loadExternalSettings(readConfig());
const core = await openSharedServices(setting, resources, () => {});
const connection = await openWorkerConnection(setting, resources, () => {});
await openWorker(core, connection, resources);
const app = await openApi(core, openRunControl(core, connection, true), { resources });
console.error(`API at ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
await ended;
await resources.close();
