// The upstream of a gateway under attack, as a process of its own, which sends its URL to its parent. The id of the
// organization in a request decides how large and how late the answer is. This upstream checks nothing and answers with
// prepared bytes: the simulator's work would use the CPU for which the gateway and the honest callers compete.
import http from 'node:http';
import { readFixture } from '../../simulator/server.mjs';
import { JWKS_PATH } from '../../simulator/specification.mjs';
import { WebhookKeys } from '../../simulator/webhook_keys.mjs';
import { answersTo } from './organizations.mjs';

const times = { createdAt: { seconds: '1700000000', nanos: '0' }, updatedAt: { seconds: '1700000000', nanos: '0' } };
const policy = { policyId: 'policy', policyName: 'name', effect: 'EFFECT_ALLOW', ...times, notes: '' };

function policiesOf({ kilobytes, isSplit }) {
  const bytes = 1000 * kilobytes;
  if (!isSplit) return { policies: [{ ...policy, notes: 'x'.repeat(bytes) }] };
  return { policies: Array.from({ length: bytes / '{},'.length }, () => ({})) };
}

function activityOf({ id: organizationId, isPending }, type) {
  const activity = { id: 'activity', organizationId, type, ...times };
  if (isPending) return { activity: { ...activity, status: 'ACTIVITY_STATUS_PENDING' } };
  const result = { updateOrganizationNameResult: { organizationId, organizationName: 'name' } };
  return { activity: { ...activity, status: 'ACTIVITY_STATUS_COMPLETED', result } };
}

const prepared = new Map();

/** The bytes of the value that `make` returns, which is called once for each name. */
function bytesOf(name, make) {
  if (!prepared.has(name)) prepared.set(name, Buffer.from(JSON.stringify(make())));
  return prepared.get(name);
}

function answerTo(path, text) {
  if (path === JWKS_PATH) {
    const keys = new WebhookKeys(readFixture().webhookKeys, 'service');
    return { body: bytesOf(path, () => keys.document()), delayMs: 0 };
  }
  const answers = answersTo(text);
  const [, type] = /"type":"([A-Z0-9_]+)"/.exec(text) ?? [];
  const make = () => {
    if (path.endsWith('/get_policy')) return { policy };
    return path.endsWith('/list_policies') ? policiesOf(answers) : activityOf(answers, type);
  };
  return { body: bytesOf(`${path} ${answers.id} ${type}`, make), delayMs: answers.delayMs };
}

const server = http.createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  const chunks = [];
  request.on('error', () => {});
  response.on('error', () => {});
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    // The beginning of the body, which may have megabytes, names the organization.
    const { body, delayMs } = answerTo(request.url, `${Buffer.concat(chunks).subarray(0, 1000)}`);
    setTimeout(() => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
      response.end(body);
    }, delayMs);
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send({ url: `http://127.0.0.1:${port}` });
});
process.on('disconnect', () => process.exit());
