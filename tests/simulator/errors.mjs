// The class Refusal: the service's error response to a request that the service does not carry out.

/** gRPC codes and the HTTP status of each. */
export const codes = {
  CANCELLED: { number: 1, http: 499 },
  UNKNOWN: { number: 2, http: 500 },
  INVALID_ARGUMENT: { number: 3, http: 400 },
  DEADLINE_EXCEEDED: { number: 4, http: 504 },
  NOT_FOUND: { number: 5, http: 404 },
  ALREADY_EXISTS: { number: 6, http: 409 },
  PERMISSION_DENIED: { number: 7, http: 403 },
  RESOURCE_EXHAUSTED: { number: 8, http: 429 },
  FAILED_PRECONDITION: { number: 9, http: 400 },
  ABORTED: { number: 10, http: 409 },
  OUT_OF_RANGE: { number: 11, http: 400 },
  UNIMPLEMENTED: { number: 12, http: 501 },
  INTERNAL: { number: 13, http: 500 },
  UNAVAILABLE: { number: 14, http: 503 },
  DATA_LOSS: { number: 15, http: 500 },
  UNAUTHENTICATED: { number: 16, http: 401 },
};

export class Refusal extends Error {
  /**
   * @param {keyof codes} code
   * @param {string} errorCode the service's own code, such as `SIGNATURE_INVALID`
   * @param {string} message
   * @param {{http?: number, violations?: {field: string, description: string}[]}} [more]
   */
  constructor(code, errorCode, message, { http, violations = [] } = {}) {
    super(message);
    this.code = code;
    this.errorCode = errorCode;
    this.http = http ?? codes[code].http;
    this.violations = violations;
  }
}

export const unauthenticated = (errorCode, message) => new Refusal('UNAUTHENTICATED', errorCode, message);
export const notFound = (errorCode, message) => new Refusal('NOT_FOUND', errorCode, message);

export function invalidRequest(violations) {
  const said = violations.map(({ field, description }) => (field === '' ? description : `${field} ${description}`));
  return new Refusal('INVALID_ARGUMENT', 'REQUEST_INVALID', `request is not valid: ${said.join('; ')}`, { violations });
}
