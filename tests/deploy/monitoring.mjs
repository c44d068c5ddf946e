// Reads deploy/kubernetes/monitoring as objects, and gets the metrics of a gateway that shows every metric.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, metricsOf } from '../end_to_end/admin_port.mjs';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { auditConfig, eventsConfig, scratch, startGateway } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { folder as kubernetes, parse } from './manifests.mjs';

export const folder = join(kubernetes, 'monitoring');

export const readObject = (file) => {
  const [object, ...more] = parse(readFileSync(join(folder, file), 'utf8'));
  assert.equal(more.length, 0, file);
  return object;
};

/** The rule file in the PrometheusRule, as Prometheus reads it. */
export const readRules = () => readObject('rules.yaml').spec;
export const alertsOf = ({ groups }) => groups.flatMap(({ rules }) => rules);

export const readDashboard = () => JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8'));
/** The panels that have queries. */
export const panelsOf = ({ panels }) => panels.filter(({ type }) => type !== 'row');

/** The labels that Prometheus adds to each series of the PodMonitor's targets. */
export const TARGET_LABELS = ['container', 'endpoint', 'instance', 'job', 'namespace', 'pod'];

const KEYWORDS = ['and', 'bool', 'offset', 'or', 'unless'];
const WITH_LABELS = ['by', 'group_left', 'group_right', 'ignoring', 'on', 'without'];

/**
 * Returns the selectors in an expression of PromQL, and the labels by which the expression groups. Strings and ranges
 * may contain Grafana's variables.
 * @returns {{selectors: {metric: string, matchers: {label: string, value: string}[]}[], labels: string[]}}
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
      selectors.push({ metric: tokens[i], matchers });
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
 * Returns the metrics of a gateway as metricsOf() returns them. The gateway has TLS on both ports, an event log, an
 * audit log and a store, and a reload of its config has failed.
 */
export async function allMetrics(t) {
  const work = scratch(t);
  const authority = makeAuthority(work, 'authority');
  const write = (name, bytes) => {
    writeFileSync(join(work, name), bytes, { mode: 0o600 });
    return join(work, name);
  };
  const { cert, key } = authority.issue();
  const [certificate, privateKey] = [write('server.pem', cert), write('server.key', key)];
  const simulator = await startSimulator();
  t.after(() => simulator.close());
  const gateway = await startGateway(t, simulator, {
    admin: ADMIN,
    reload_interval: '100ms',
    audit: await auditConfig(work),
    tls: { certificate_file: certificate, private_key_file: privateKey, client_ca_file: authority.file },
    ...eventsConfig(work, { webhooks: { tls_certificate_file: certificate, tls_private_key_file: privateKey } }),
  }, { folder: work });
  writeFileSync(gateway.configFile, 'nonsense: true');
  gateway.child.kill('SIGHUP');
  // The gateway updates the first two metrics only at intervals. It counts a failed reload again at each interval while
  // the config is broken. An alert relies on these repeated counts.
  let metrics;
  await until(async () => {
    metrics = await metricsOf(gateway);
    return (
      metrics.has('stampgate_event_log_bytes') &&
      metrics.has('stampgate_webhook_peers_refused_total') &&
      metrics.get('stampgate_reloads_total{result="failed",what="config"}') >= 3
    );
  }, 'all metrics are shown, and the failed reload is counted several times');
  return metrics;
}
