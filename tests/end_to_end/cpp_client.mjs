// Calls the gateway with a C++ client (call.cc), because the Node.js client may hide faults.
import { encode, methods } from '../clients/gateway.mjs';
import { binary } from '../paths.mjs';
import { run } from './harness.mjs';

/**
 * @param {{address: string}} gateway
 * @param {string} method
 * @param {object | Buffer} request
 * @param {{deadlineMs?: number, metadata?: [string, string][]}} [options] metadata may repeat a name
 * @returns {Promise<{status: {code: number, message: string}, bytes: number, details: object[]}>} what the C++ client
 *     got; `details` are the messages of the google.rpc.Status as JSON, each with its "@type"
 */
export async function callFromCpp(gateway, method, request, { deadlineMs = 20_000, metadata = [] } = {}) {
  const args = [gateway.address, methods.get(method).path, String(deadlineMs), ...metadata.flat()];
  const { status, stdout, stderr } = await run(args, {
    command: binary('tests/end_to_end/call'),
    input: encode(method, request),
  });
  if (status !== 0) throw new Error(`call exited with ${status}: ${stderr}`);
  const [ended, size, rich] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { status: { code: 0, message: '', ...ended }, bytes: size?.bytes ?? 0, details: rich?.details ?? [] };
}
