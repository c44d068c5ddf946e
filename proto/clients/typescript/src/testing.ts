// A fake gateway for unit tests: a server in the same process with the real services. It returns the answers that a test
// sets, and records the requests.
import { create, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, DescMethod, DescMethodServerStreaming, DescMethodUnary } from '@bufbuild/protobuf';
import type { DescService, Message, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { anyPack, type Any } from '@bufbuild/protobuf/wkt';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { ServerWritableStream, ServiceError, sendUnaryData } from '@grpc/grpc-js';
import { serviceDefinition } from './definition.js';
import type { Reason } from './errors.js';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from './gen/google/rpc/error_details_pb.js';
import { StatusSchema } from './gen/google/rpc/status_pb.js';
import * as api from './v1.js';

/** An answer that never arrives: the call ends when the client ends it. */
export const NEVER = Symbol('never');

/** A response, the messages of a stream in order, an error, NEVER, or a function that makes one of them. */
export type Answer<I extends DescMessage, R> =
  R | ServiceError | typeof NEVER | ((request: MessageShape<I>) => R | ServiceError | typeof NEVER);

type MethodOf<I extends DescMessage, O extends DescMessage> = DescMethodUnary<I, O> | DescMethodServerStreaming<I, O>;

/** A call that arrived. */
export interface Received {
  method: DescMethod;
  request: Message;
  metadata: Metadata;
}

export interface ErrorOptions {
  code: status;
  message?: string;
  /** The gateway's own reason, or upstream's code together with `domain`. */
  reason?: Reason | (string & {});
  domain?: 'stampgate' | 'upstream';
  metadata?: Record<string, string>;
  violations?: { field: string; description: string }[];
  retryDelayMs?: number;
}

/** An error as the gateway sends it. Without `reason`, it has no ErrorInfo, as if the connection had broken. */
export function errorOf(options: ErrorOptions): ServiceError {
  const { code, message = '', reason, domain = 'stampgate', metadata = {}, violations, retryDelayMs: delay } = options;
  const details: Any[] = [];
  if (reason !== undefined) details.push(packed(ErrorInfoSchema, { reason, domain, metadata }));
  if (violations) details.push(packed(BadRequestSchema, { fieldViolations: violations }));
  if (delay !== undefined) details.push(packed(RetryInfoSchema, { retryDelay: durationOf(delay) }));
  const trailers = new Metadata();
  const bytes = toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
  if (details.length > 0) trailers.set('grpc-status-details-bin', Buffer.from(bytes));
  return Object.assign(new Error(message), { code, details: message, metadata: trailers });
}

const packed = <Type extends DescMessage>(type: Type, init: MessageInitShape<Type>): Any =>
  anyPack(type, create(type, init));

const durationOf = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.round((ms % 1000) * 1e6) });

/** A server without TLS on the loopback interface. */
export class FakeGateway {
  /** The calls in the order in which they arrived. */
  readonly received: Received[] = [];
  readonly #answers = new Map<DescMethod, unknown[]>();
  readonly #server = new Server();
  #address = '';

  private constructor() {}

  static async start(): Promise<FakeGateway> {
    const fake = new FakeGateway();
    for (const service of Object.values<unknown>(api).filter(isService)) {
      const handlers = service.methods.map((method) => [
        method.localName,
        method.methodKind === 'unary'
          ? (call: Arrived, done: sendUnaryData<Message>) => fake.#respond(method, call, done)
          : (call: ServerWritableStream<Message, Message>) => fake.#stream(method, call),
      ]);
      fake.#server.addService(serviceDefinition(service), Object.fromEntries(handlers));
    }
    const port = await new Promise<number>((resolve, reject) => {
      const credentials = ServerCredentials.createInsecure();
      fake.#server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
    });
    fake.#address = `127.0.0.1:${port}`;
    return fake;
  }

  /** The address for `connect`. */
  get address(): string {
    return this.#address;
  }

  /**
   * Sets the answers to the calls of a method, in order; the last one is repeated. The answer of a method that returns a
   * stream is a list; an error in the list ends the stream, and NEVER in the list holds it open.
   */
  answer<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    ...answers: Answer<I, MessageInitShape<O>>[]
  ): void;
  answer<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    ...answers: Answer<I, (MessageInitShape<O> | ServiceError | typeof NEVER)[]>[]
  ): void;
  answer(method: DescMethod, ...answers: unknown[]): void {
    this.#answers.set(method, answers);
  }

  /** The requests of a method, in the order in which they arrived. */
  requests<I extends DescMessage, O extends DescMessage>(method: MethodOf<I, O>): MessageShape<I>[] {
    const calls = this.received.filter((received) => received.method === method);
    return calls.map(({ request }) => request as MessageShape<I>);
  }

  /** Ends all calls and closes the port. */
  stop(): void {
    this.#server.forceShutdown();
  }

  #next(method: DescMethod, { request, metadata }: Arrived): unknown {
    this.received.push({ method, request, metadata });
    const answers = this.#answers.get(method);
    if (!answers?.length) return errorOf({ code: status.UNIMPLEMENTED, message: `the test answers no ${method.name}` });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return typeof answer === 'function' ? answer(request) : answer;
  }

  #respond(method: DescMethod, call: Arrived, done: sendUnaryData<Message>): void {
    const answer = this.#next(method, call);
    if (answer instanceof Error) done(answer);
    else if (answer !== NEVER) done(null, create(method.output, answer as Record<string, unknown>));
  }

  #stream(method: DescMethod, call: ServerWritableStream<Message, Message>): void {
    const answer = this.#next(method, call);
    for (const item of Array.isArray(answer) ? answer : [answer]) {
      if (item === NEVER) return;
      if (item instanceof Error) {
        call.emit('error', item);
        return;
      }
      call.write(create(method.output, item));
    }
    call.end();
  }
}

const isService = (value: unknown): value is DescService => (value as { kind?: unknown }).kind === 'service';

type Arrived = { request: Message; metadata: Metadata };
