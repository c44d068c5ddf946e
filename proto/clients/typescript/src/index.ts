// The client of stampgate. The messages and services are in '@stampgate/client/v1', a fake gateway for unit tests is in
// '@stampgate/client/testing'.
export type { TlsFiles, Token } from './channel.js';
export { Park, type ConsumeOptions } from './consume.js';
export { FileCursor, type CursorStore } from './cursor.js';
export { serviceDefinition } from './definition.js';
export { StampgateError, type Reason } from './errors.js';
export { Gateway, connect, type Call, type CallOptions, type Client, type ConnectOptions } from './gateway.js';
export * from './outcomes.js';
export { Gap } from './resume.js';
export { apiKeyStamper, type Stamper } from './stamp.js';
export type { SubmitOptions, SubmitResult } from './submit.js';
export type { SubscribeOptions } from './subscribe.js';
export { verify } from './verify.js';
