import { Connection, type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;

const CANCELLED = 1;

/** A connection of a client, opened with the first call. Calls that are in progress or repeated when it is closed fail as cancelled. */
export const lazyConnection = (options: ConnectionOptions): Connection =>
  Connection.lazy({ ...options, interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), cancelOnceClosed] });

/** The SDK repeats calls from a timer. What gRPC throws there because the connection was closed meanwhile would end the process. */
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
