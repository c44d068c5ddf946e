// A connection to the gateway, and calls of any of its methods.
import { create, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, DescService, Message } from '@bufbuild/protobuf';
import { Metadata, type ChannelOptions, type Client as GrpcClient, type ServiceError } from '@grpc/grpc-js';
import { openChannel, type TlsFiles, type Token } from './channel.js';
import { SERVICE_CONFIG, VERSION } from './constants.js';
import { consume } from './consume.js';
import { methodDefinition } from './definition.js';
import { StampgateError } from './errors.js';
import { stamp } from './stamp.js';
import { submit } from './submit.js';
import { subscribe } from './subscribe.js';

export interface ConnectOptions {
  /** Connects with TLS. `{}` trusts the authorities of Node.js and presents no certificate. */
  tls?: TlsFiles;
  /** The bearer token. Needs `tls`. */
  token?: Token;
  /** The time limit of calls that set none. By default 30 seconds. Streams have none. */
  timeoutMs?: number;
  /** Further options of @grpc/grpc-js, which replace those of this package. */
  channelOptions?: ChannelOptions;
}

export interface CallOptions {
  /** The time limit of the whole call, with all repetitions. */
  timeoutMs?: number;
  /** Cancels the call. */
  signal?: AbortSignal;
  /** Further metadata of the request, such as traceparent. */
  metadata?: Metadata;
}

/** A method as a function: it returns a promise of the response, or the messages of a stream. */
export type Call<Method extends DescMethod, Response = MessageShape<Method['output']>> = (
  request: MessageInitShape<Method['input']>,
  options?: CallOptions,
) => Method extends DescMethodUnary ? Promise<Response> : AsyncIterable<Response>;

/** The methods of a service. */
export type Client<Service extends DescService> = { [Name in keyof Service['method']]: Call<Service['method'][Name]> };

const DEFAULT_OPTIONS: ChannelOptions = {
  'grpc.primary_user_agent': `stampgate-typescript/${VERSION}`,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }], ...SERVICE_CONFIG }),
  // A service config from DNS could repeat submits.
  'grpc.service_config_disable_resolution': 1,
  // The gateway ends connections that send a ping more often than every 30 seconds.
  'grpc.keepalive_time_ms': 40_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 5_000,
};

/** A connection to the gateway. It connects when the first call starts, and again after each failure. */
export class Gateway {
  readonly #client: () => GrpcClient;
  /** The time limit of calls that set none. */
  readonly timeoutMs: number;

  constructor(address: string, { tls, token, timeoutMs = 30_000, channelOptions }: ConnectOptions = {}) {
    this.#client = openChannel(address, { ...DEFAULT_OPTIONS, ...channelOptions }, tls, token);
    this.timeoutMs = timeoutMs;
  }

  /** The methods of a service. Their errors are StampgateErrors. */
  client<Service extends DescService>(service: Service): Client<Service> {
    const functions = service.methods.map((method) => {
      const start: (...call: never[]) => unknown = method.methodKind === 'unary' ? this.call : this.stream;
      return [method.localName, start.bind(this, method as never)];
    });
    return Object.fromEntries(functions) as Client<Service>;
  }

  /** Calls a method, and repeats it only if it is a query. */
  async call<Method extends DescMethodUnary>(
    method: Method,
    request: MessageInitShape<Method['input']>,
    { timeoutMs = this.timeoutMs, signal, metadata }: CallOptions = {},
  ): Promise<MessageShape<Method['output']>> {
    const parts = partsOf(method, create(method.input, request), timeoutMs, metadata);
    return new Promise((resolve, reject) => {
      const call = this.#client().makeUnaryRequest(...parts, (error, response) => {
        release();
        if (error) reject(new StampgateError(error));
        else resolve(response as MessageShape<Method['output']>);
      });
      const release = cancelOn(signal, call);
    });
  }

  /** Starts a call that returns a stream, and yields its messages. The end of the loop cancels the call. */
  async *stream<Method extends DescMethodServerStreaming>(
    method: Method,
    request: MessageInitShape<Method['input']>,
    { timeoutMs = Infinity, signal, metadata }: CallOptions = {},
  ): AsyncGenerator<MessageShape<Method['output']>, void, undefined> {
    const call = this.#client().makeServerStreamRequest(
      ...partsOf(method, create(method.input, request), timeoutMs, metadata),
    );
    const release = cancelOn(signal, call);
    try {
      for await (const response of call) yield response as MessageShape<Method['output']>;
    } catch (error) {
      throw new StampgateError(error as ServiceError);
    } finally {
      release();
      call.on('error', () => {}); // the error that the cancellation causes
      call.cancel();
    }
  }

  /**
   * Submits, and repeats the submit until its outcome is known or the time limit has passed: upstream acts at most once.
   * @returns the result of the completed activity
   * @throws {ActivityPending | ActivityRejected | ActivityFailed} if the activity is not completed
   * @throws {OutcomeUnknown} if upstream may have acted
   * @throws {StampgateError} if this submit was refused or never sent
   */
  readonly submit = submit;

  /**
   * Yields events, and resumes after the failure of a connection. Without a cursor, starts at the place in `request`, or
   * at the beginning of the event log. Waits and repeats while the gateway cannot be reached, and logs nothing. The loop
   * ends without an error if `options.signal` aborts.
   * @throws {Gap} if the event log cannot continue at the cursor
   */
  readonly subscribe = subscribe;

  /**
   * Handles the events of a shared subscription, and shares them with all its other consumers. Calls `handle` for one
   * event at a time, waits for its promise, and settles the event before the next one. If `handle` succeeds, the event is
   * done; if it throws Park, the event is parked; if it throws another error, the event is delivered again later.
   * Handling an event twice must do no harm. For more events at a time, call `consume` again, or in more processes.
   *
   * The events that the consumer holds are extended, also while `handle` runs. Resumes after the failure of a connection.
   * Returns after `options.signal` aborts: the gateway then delivers the other held events to other consumers.
   * @throws {Gap} if events are missing, after the held ones are handled. The next `consume` continues after the gap
   * @throws {StampgateError} if a repetition cannot help
   */
  readonly consume = consume;

  /**
   * Prepares a request that an end user stamps, and lets `stamper` stamp it. Send the stamp as the only field of a
   * request of the same method: `submit(method, { clientStamp })`.
   */
  readonly stamp = stamp;

  /** Closes the connection. Calls in progress may fail. */
  close(): void {
    this.#client().close();
  }
}

/** Connects to the gateway at an address such as 'dns:///stampgate.stampgate.svc:7443'. */
export const connect = (address: string, options?: ConnectOptions): Gateway => new Gateway(address, options);

/** The arguments of a call of @grpc/grpc-js. A request that cannot be serialized throws here, and is never repeated. */
function partsOf(method: DescMethod, request: Message, timeoutMs: number, metadata = new Metadata()) {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
  const deadline = Date.now() + timeoutMs;
  return [path, asIs, responseDeserialize, requestSerialize(request), metadata, { deadline }] as const;
}

const asIs = (bytes: Buffer) => bytes;

/** Cancels the call if the signal aborts, until the returned function is called. */
function cancelOn(signal: AbortSignal | undefined, call: { cancel(): void }): () => void {
  const cancel = () => call.cancel();
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel);
  return () => signal?.removeEventListener('abort', cancel);
}
