// A connection to the gateway, and calls of any of its methods.
import { create } from '@bufbuild/protobuf';
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { Metadata, status } from '@grpc/grpc-js';
import type { ChannelOptions, ClientUnaryCall, ServiceError } from '@grpc/grpc-js';
import { Channel } from './channel.js';
import type { Token, TlsFiles } from './channel.js';
import { SERVICE_CONFIG, VERSION } from './constants.js';
import { methodDefinition } from './definition.js';
import { StampgateError } from './errors.js';
import { subscribe } from './events.js';
import type { SubscribeOptions } from './events.js';
import type { Event } from './gen/stampgate/v1/events_pb.js';
import type { SubscribeRequestSchema } from './gen/stampgate/v1/event_service_pb.js';
import type { ClientStamp } from './gen/stampgate/v1/client_stamp_pb.js';
import { stamp } from './stamp.js';
import type { Stamper } from './stamp.js';
import { submit } from './submit.js';
import type { ActivityOf, SubmitOptions, SubmitResult } from './submit.js';

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

/** A service's methods as functions: a promise of the response, or the messages of a stream. */
export type Client<Service extends DescService> = {
  [Name in keyof Service['method']]: Service['method'][Name] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : Service['method'][Name] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncIterable<MessageShape<O>>
      : never;
};

const DEFAULT_OPTIONS: ChannelOptions = {
  'grpc.primary_user_agent': `stampgate-typescript/${VERSION}`,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }], ...SERVICE_CONFIG }),
  // The gateway ends connections that send a ping more often than every 30 seconds.
  'grpc.keepalive_time_ms': 40_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 5_000,
  'grpc.max_receive_message_length': 4 * 1024 * 1024,
};

/** A connection to the gateway. It connects when the first call starts, and again after each failure. */
export class Gateway {
  readonly #channel: Channel;
  /** The time limit of calls that set none. */
  readonly timeoutMs: number;

  constructor(address: string, { tls, token, timeoutMs = 30_000, channelOptions }: ConnectOptions = {}) {
    this.#channel = new Channel(address, tls, token, { ...DEFAULT_OPTIONS, ...channelOptions });
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
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    { timeoutMs = this.timeoutMs, signal, metadata = new Metadata() }: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
    const message = create(method.input, request);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(aborted());
      const lease = this.#channel.acquire();
      const cancel = () => call.cancel();
      const end = (error: ServiceError | null, response: unknown) => {
        this.#channel.release(lease);
        signal?.removeEventListener('abort', cancel);
        if (error) reject(new StampgateError(error));
        else resolve(response as MessageShape<O>);
      };
      const deadline = { deadline: Date.now() + timeoutMs };
      const call: ClientUnaryCall = lease.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        message,
        metadata,
        deadline,
        end,
      );
      signal?.addEventListener('abort', cancel);
    });
  }

  /** Starts a call that returns a stream, and yields its messages. The end of the loop cancels the call. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    { timeoutMs, signal, metadata = new Metadata() }: CallOptions = {},
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    if (signal?.aborted) throw aborted();
    const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
    const message = create(method.input, request);
    const deadline = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
    const lease = this.#channel.acquire();
    const { client } = lease;
    const call = client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      message,
      metadata,
      deadline,
    );
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel);
    try {
      for await (const response of call) yield response as MessageShape<O>;
    } catch (error) {
      throw isServiceError(error) ? new StampgateError(error) : error;
    } finally {
      signal?.removeEventListener('abort', cancel);
      call.on('error', () => {}); // the error that the cancellation causes
      call.cancel();
      this.#channel.release(lease);
    }
  }

  /**
   * Submits, and repeats the submit until its outcome is known or the time limit has passed: upstream acts at most once.
   * @returns the result of the completed activity
   * @throws {ActivityPending | ActivityRejected | ActivityFailed} if the activity is not completed
   * @throws {OutcomeUnknown} if upstream may have acted
   * @throws {StampgateError} if upstream has not acted
   */
  submit<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O> & ActivityOf<O>,
    request: MessageInitShape<I>,
    options?: SubmitOptions,
  ): Promise<SubmitResult> {
    return submit(this, method, request, options);
  }

  /**
   * Yields events, and resumes after the failure of a connection. Without a cursor, starts at the place in `request`, or
   * at the beginning of the event log. The loop ends without an error if `options.signal` aborts.
   * @throws {Gap} if the event log cannot continue at the cursor
   */
  subscribe(
    request: MessageInitShape<typeof SubscribeRequestSchema> = {},
    options?: SubscribeOptions,
  ): AsyncGenerator<Event, void, undefined> {
    return subscribe(this, request, options);
  }

  /**
   * Prepares a request that an end user stamps, and lets `stamper` stamp it. Send the stamp as the only field of a
   * request of the same method: `submit(method, { clientStamp })`.
   */
  stamp<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    stamper: Stamper,
    options?: CallOptions,
  ): Promise<ClientStamp> {
    return stamp(this, method, request, stamper, options);
  }

  /** Closes the connection. Calls in progress may fail. */
  close(): void {
    this.#channel.close();
  }
}

/** Connects to the gateway at an address such as 'dns:///stampgate.stampgate.svc:7443'. */
export const connect = (address: string, options?: ConnectOptions): Gateway => new Gateway(address, options);

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && 'details' in error;

const aborted = () =>
  new StampgateError(
    Object.assign(new Error(), {
      code: status.CANCELLED,
      details: 'the signal was aborted before the call started',
      metadata: new Metadata(),
    }),
  );
