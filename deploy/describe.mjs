// Formats responses and errors as readable text.
import { code } from '../tests/clients/gateway.mjs';

const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);
// Omits the votes, because each contains the whole user.
const brief = (key, value) => (key === 'votes' ? `(${value.length} omitted)` : value);

/** A message as indented JSON. */
export const describeMessage = (message) => JSON.stringify(message, brief, 2).replace(/^/gm, '  ');

/** A gRPC error with its code, its reason and its details, one line each. */
export function describeError(error) {
  const lines = [`  ${[nameOf(error.code), error.info?.reason].filter(Boolean).join(' ')}: ${error.details}`];
  for (const [key, value] of Object.entries(error.info?.metadata ?? {})) lines.push(`    ${key}: ${value}`);
  for (const { field, description } of error.badRequest?.field_violations ?? [])
    lines.push(`    ${field} ${description}`);
  if (error.retryInfo) lines.push(`    repeat after ${JSON.stringify(error.retryInfo.retry_delay)}`);
  return lines.join('\n');
}
