// The errors of calls, with the details that the gateway sends.
import { fromBinary, type DescMessage } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { status, type ServiceError } from '@grpc/grpc-js';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from './gen/google/rpc/error_details_pb.js';
import { StatusSchema } from './gen/google/rpc/status_pb.js';
import type { ErrorReason } from './v1.js';

/** The names of the gateway's own reasons, such as 'OUTCOME_UNKNOWN'. */
export type Reason = Exclude<keyof typeof ErrorReason, 'UNSPECIFIED'>;

/** The domains of the gateway's errors. A proxy can send an ErrorInfo too. */
const DOMAINS = ['stampgate', 'upstream'];

/** The end of a message of @grpc/grpc-js whose note about the name of the gateway is empty. */
const EMPTY_NOTE = /\. Resolution note: $/;

/** The error of a call. */
export class StampgateError extends Error {
  override name = 'StampgateError';
  /** The canonical code. */
  readonly code: status;
  /** 'stampgate' or 'upstream': which of the two made the error. Empty if the gateway did not make the error. */
  readonly domain: string;
  /** With the domain 'stampgate' a `Reason`; with the domain 'upstream' upstream's own code. Otherwise empty. */
  readonly reason: Reason | (string & {});
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields of the request that break rules. */
  readonly violations: readonly { field: string; description: string }[];
  /** After this time a repetition can succeed. Undefined if the gateway does not recommend a repetition. */
  readonly retryDelayMs: number | undefined;
  /** By this id the operator finds the call in the logs. */
  readonly requestId: string | undefined;

  /** The name of `code`, such as 'UNAVAILABLE'. */
  get codeName(): string {
    return status[this.code];
  }

  constructor(override readonly cause: ServiceError) {
    super((cause.details || cause.message).replace(EMPTY_NOTE, ''));
    this.code = cause.code;
    this.requestId = cause.metadata?.get('x-request-id')[0]?.toString();
    const bytes = cause.metadata?.get('grpc-status-details-bin')[0];
    const detail = <Type extends DescMessage>(type: Type) => {
      if (!(bytes instanceof Buffer)) return undefined;
      try {
        const { details } = fromBinary(StatusSchema, bytes);
        return details.map((any) => anyUnpack(any, type)).find(Boolean);
      } catch {
        return undefined; // the details of a proxy, which cannot be decoded
      }
    };
    const info = detail(ErrorInfoSchema);
    const isOfGateway = info !== undefined && DOMAINS.includes(info.domain);
    this.domain = isOfGateway ? info.domain : '';
    this.reason = isOfGateway ? info.reason : '';
    this.metadata = isOfGateway ? info.metadata : {};
    const violations = detail(BadRequestSchema)?.fieldViolations ?? [];
    this.violations = violations.map(({ field, description }) => ({ field, description }));
    const delay = detail(RetryInfoSchema)?.retryDelay;
    this.retryDelayMs = delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6;
  }
}
