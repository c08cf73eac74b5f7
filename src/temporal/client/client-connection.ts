import { Connection, type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;

const CANCELLED = 1;

/**
 * Creates a connection that opens with the first call. If it is closed while calls are in progress or being repeated, they fail
 * as cancelled.
 */
export const lazyConnection = (options: ConnectionOptions): Connection =>
  Connection.lazy({ ...options, interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), cancelOnceClosed] });

/**
 * Turns an error of gRPC into a cancelled call. The SDK repeats calls from a timer: if the connection was closed in the meantime,
 * an error thrown there would end the process.
 */
const cancelOnceClosed: Interceptor = (options, nextCall) => {
  try {
    return nextCall(options) as Call;
  } catch (error) {
    return createCancelledCall((error as Error).message);
  }
};

function createCancelledCall(details: string): Call {
  const call: Pick<Call, 'start' | 'sendMessage' | 'halfClose'> = {
    start: (metadata, listener) => listener?.onReceiveStatus?.({ code: CANCELLED, details, metadata }),
    sendMessage() {},
    halfClose() {},
  };
  return call as Call;
}
