// Reads deploy/kubernetes/monitoring, and the rules and the dashboard of the chart, and starts gateways that together show every metric.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, metricsOf } from '../end_to_end/admin_port.mjs';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { subscriptionConfig } from '../end_to_end/consumer.mjs';
import { QUERY, described } from '../end_to_end/failures.mjs';
import { auditConfig, eventsConfig, scratch, startGateway, startStack } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { SharedLogStack } from '../end_to_end/shared_log_stack.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { chart, folder as kubernetes, parse } from './manifests.mjs';

export const folder = join(kubernetes, 'monitoring');

export const readObject = (file) => {
  const [object, ...more] = parse(readFileSync(join(folder, file), 'utf8'));
  assert.equal(more.length, 0, file);
  return object;
};

/** The rule file of Prometheus. */
export const ruleFile = join(chart, 'files/rules.yaml');
export const readRules = () => parse(readFileSync(ruleFile, 'utf8'))[0];
export const alertsOf = ({ groups }) => groups.flatMap(({ rules }) => rules);

export const dashboardText = readFileSync(join(chart, 'files/dashboard.json'), 'utf8');
export const readDashboard = () => JSON.parse(dashboardText);
/** The panels that have queries. */
export const panelsOf = ({ panels }) => panels.filter(({ type }) => type !== 'row');

/** The labels that Prometheus adds to each series of the PodMonitor's targets. */
export const TARGET_LABELS = ['container', 'endpoint', 'instance', 'job', 'namespace', 'pod'];

const KEYWORDS = ['and', 'bool', 'offset', 'or', 'unless'];
const WITH_LABELS = ['by', 'group_left', 'group_right', 'ignoring', 'on', 'without'];

/**
 * Returns the selectors in an expression of PromQL, and the labels by which the expression groups. Strings and ranges
 * may contain Grafana's variables. `text` is the selector itself, without a range.
 * @returns {{selectors: {metric: string, matchers: {label: string, value: string}[], text: string}[], labels: string[]}}
 */
export function namesIn(expression) {
  const tokens = expression.match(/"[^"]*"|\[[^\]]*\]|[a-zA-Z_:][\w:]*|[\d.]+\w*|[=!<>~]+|[^\s\w]/g);
  const selectors = [];
  const labels = [];
  /** The tokens between the bracket at `at` and its closing bracket `end`. */
  const within = (at, end) => tokens.slice(at + 1, tokens.indexOf(end, at));
  for (let i = 0; i < tokens.length; ++i) {
    const next = tokens[i + 1];
    if (WITH_LABELS.includes(tokens[i])) {
      const named = within(i + 1, ')');
      labels.push(...named.filter((token) => token !== ','));
      i += named.length + 2;
    } else if (!/^[a-zA-Z_:]/.test(tokens[i]) || KEYWORDS.includes(tokens[i])) {
      assert.notEqual(tokens[i], '{', `a selector without a name in ${expression}`);
    } else if (next !== '(' && next !== 'by' && next !== 'without') {
      const inside = next === '{' ? within(i + 1, '}') : [];
      const matchers = [];
      for (let k = 0; k < inside.length; k += 4) {
        const [label, , value, comma] = inside.slice(k, k + 4);
        assert.ok(comma === undefined || comma === ',', expression);
        matchers.push({ label, value: value.slice(1, -1) });
      }
      const text = next === '{' ? `${tokens[i]}{${inside.join('')}}` : tokens[i];
      selectors.push({ metric: tokens[i], matchers, text });
      if (next === '{') i += inside.length + 2;
    }
  }
  return { selectors, labels };
}

/** The name and the labels of a series of metricsOf(). */
export function parseSeries(series) {
  const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series);
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]);
  return { name, labels: Object.fromEntries(pairs) };
}

/**
 * Starts three gateways, which together show every metric: `plain` has an event log, an audit log and a store, and
 * receives its simulator's events; `tls` also has TLS on both ports, and nobody calls it; `shared` has its store on a
 * PostgreSQL server, `postgres`.
 */
export async function startGateways(t) {
  const [plainFolder, tlsFolder] = [scratch(t), scratch(t)];
  const { simulator, gateway: plain } = await startStack(t, {
    config: { admin: ADMIN, audit: await auditConfig(plainFolder), ...subscriptionConfig() },
    events: true,
  });

  const authority = makeAuthority(tlsFolder, 'authority');
  const write = (name, bytes) => {
    writeFileSync(join(tlsFolder, name), bytes, { mode: 0o600 });
    return join(tlsFolder, name);
  };
  // An alert fires for a certificate that expires within a week.
  const { cert, key } = authority.issue({ days: 30 });
  const [certificate, privateKey] = [write('server.pem', cert), write('server.key', key)];
  const tls = await startGateway(
    t,
    simulator,
    {
      admin: ADMIN,
      // No collector listens here. The metrics of the exports are shown all the same.
      telemetry: { endpoint: 'http://127.0.0.1:1' },
      reload_interval: '100ms',
      audit: await auditConfig(tlsFolder),
      tls: { certificate_file: certificate, private_key_file: privateKey, client_ca_file: authority.file },
      ...eventsConfig(tlsFolder, { webhooks: { tls_certificate_file: certificate, tls_private_key_file: privateKey } }),
    },
    { folder: tlsFolder },
  );

  const postgres = await PostgresServer.create(t);
  const rates = [
    { requests: 1000, per: '1s' },
    { requests: 1_000_000, per: '24h' },
  ];
  const store = { hosts: [postgres.host], allow_single_server: true };
  const stack = await SharedLogStack.prepare(t, store, { config: { admission: { rates } } });
  stack.simulator.webhooks.change({ maxAttempts: 1 });
  const shared = await stack.start();

  // The gateways update some metrics only at intervals.
  /** @type {[import('../end_to_end/harness.mjs').Gateway, ...string[]][]} */
  const late = [
    [plain, 'stampgate_event_log_bytes', 'stampgate_webhook_peers_refused_total'],
    [tls, 'stampgate_event_log_bytes', 'stampgate_webhook_peers_refused_total'],
    [
      shared,
      'stampgate_event_log_failing',
      'stampgate_webhook_peers_refused_total',
      'stampgate_upstream_slowed_operations',
      'stampgate_rate_replicas',
      'stampgate_quota_unused_calls{window="24h"}',
    ],
  ];
  for (const [gateway, ...names] of late) {
    const areShown = async () => {
      const metrics = await metricsOf(gateway);
      return names.every((name) => metrics.has(name));
    };
    await until(areShown, `the gateway shows ${names}`);
  }
  return { simulator, plain, tls, shared, stack, postgres };
}

/**
 * Replaces the gateway's config by a faulty one. Resolves when the gateway has counted the failed reload several times,
 * as it does at each interval: an alert relies on these repeated counts.
 */
export async function breakConfig(gateway) {
  writeFileSync(gateway.configFile, 'nonsense: true');
  gateway.child.kill('SIGHUP');
  await until(async () => (await failedReloads(gateway)) >= 3, 'the failed reload is counted several times');
}

/** Returns how often a reload of the config has failed. */
export const failedReloads = async (gateway) =>
  (await metricsOf(gateway)).get('stampgate_reloads_total{result="failed",what="config"}');

/** Makes the next call to upstream end with this HTTP status. Calls, and returns the error. */
export async function failAtUpstream({ simulator, gateway }, status) {
  simulator.addFaults([{ kind: 'status', status }]);
  return described(await gateway.refusal(QUERY.method, QUERY.request));
}

/** Returns all metrics, as metricsOf() returns them, of gateways with these faults: a config, an error of upstream. */
export async function allMetrics(t) {
  const { simulator, plain, tls, shared } = await startGateways(t);
  await breakConfig(tls);
  assert.equal((await failAtUpstream({ simulator, gateway: plain }, 500)).code, 'INTERNAL');
  const all = await Promise.all([shared, plain, tls].map(metricsOf));
  return new Map(all.flatMap((metrics) => [...metrics]));
}
