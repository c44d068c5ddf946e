// The client of stampgate. The messages and services are in '@stampgate/client/v1', a fake gateway for unit tests is in
// '@stampgate/client/testing'.
export type { Token, TlsFiles } from './channel.js';
export { methodDefinition, serviceDefinition } from './definition.js';
export {
  ActivityError,
  ActivityFailed,
  ActivityPending,
  ActivityRejected,
  OutcomeUnknown,
  StampgateError,
} from './errors.js';
export type { Reason, Violation } from './errors.js';
export { FileCursor, Gap, verify } from './events.js';
export type { CursorStore, SubscribeOptions } from './events.js';
export { Gateway, connect } from './gateway.js';
export type { CallOptions, Client, ConnectOptions } from './gateway.js';
export { apiKeyStamper } from './stamp.js';
export type { Stamper } from './stamp.js';
export type { SubmitOptions, SubmitResult } from './submit.js';
