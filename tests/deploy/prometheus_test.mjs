// A real Prometheus scrapes real gateways, loads the alerts, and evaluates every query of the dashboard and of the
// alerts: while the gateways are healthy, and after several faults.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Consumer } from '../end_to_end/consumer.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { QUERY, SUBMIT, described, start } from '../end_to_end/failures.mjs';
import { HANG_MS } from '../end_to_end/harness.mjs';
import { metricsOf } from '../end_to_end/admin_port.mjs';
import { until } from '../end_to_end/processes.mjs';
import { Subscriber } from '../end_to_end/subscriber.mjs';
import {
  alertsOf,
  breakConfig,
  failedReloads,
  failAtUpstream,
  ruleFile,
  namesIn,
  panelsOf,
  readDashboard,
  readRules,
  startGateways,
} from './monitoring.mjs';
import { Prometheus } from './prometheus.mjs';

/** Panels whose queries return no number while the gateways are healthy, each with the reason. */
const EMPTY_WHEN_HEALTHY = {
  'Errors by reason': 'The query omits reasons that no error had.',
  Reloads: 'The series of a result begins with the first reload that has this result.',
};

/** Alerts of which a selector finds no series while the gateways are healthy, each with the reason. */
const WITHOUT_SERIES_WHEN_HEALTHY = {
  StampgateInternalErrors: 'The series of a code begins with the first call that ends with this code.',
  StampgateReloadFails: 'The series of a result begins with the first reload that has this result.',
};

/** The alerts whose expressions hold after the faults of this test. */
const FIRING = [
  'StampgateCallStoreFails',
  'StampgateCredentialRejected',
  'StampgateDeliveriesConflict',
  'StampgateDeliveriesRejected',
  'StampgateDeliveriesStale',
  'StampgateDeliveriesUnverifiable',
  'StampgateDeliverySignaturesInvalid',
  'StampgateEventLogFails',
  'StampgateEventsNotStored',
  'StampgateInternalErrors',
  'StampgateOutcomeUnknown',
  'StampgateRateSharesFail',
  'StampgateReloadFails',
  'StampgateUpstreamFails',
];

/** An expression of the dashboard, with values instead of Grafana's variables. */
const withValues = (expr) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');
const labelsIn = (legend) => [...legend.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label]) => label);

/** The faults of one query. A query whose selectors all find series has no fault, whatever its result is. */
async function faultsOfQuery(prometheus, expr) {
  const faults = [];
  for (const { text } of namesIn(expr).selectors) {
    if ((await prometheus.query(text)).length === 0) faults.push(`${text} selects no series`);
  }
  await prometheus.query(expr).catch(({ message }) => faults.push(`${expr}: ${message}`));
  return faults;
}

/** The faults of a panel's queries. A query without a number as its result is a fault too. */
async function faultsOfPanel(prometheus, { title, targets }) {
  const faults = [];
  for (const { expr, legendFormat } of targets) {
    const query = withValues(expr);
    const own = await faultsOfQuery(prometheus, query);
    faults.push(...own);
    if (own.length > 0) continue;
    const series = await prometheus.query(query);
    if (!series.some(({ value }) => Number.isFinite(value))) faults.push(`${title}: ${expr} returns no number`);
    for (const label of labelsIn(legendFormat)) {
      if (!series.every(({ labels }) => labels[label])) faults.push(`${title}: a series has no label ${label}`);
    }
  }
  return faults;
}

describe('a real Prometheus', { timeout: 3 * HANG_MS }, async () => {
  const gateways = await startGateways({ after });
  const { simulator, plain, tls, shared, stack, postgres } = gateways;
  const prometheus = await Prometheus.start(
    { after },
    {
      gateways: [plain, tls, shared],
      ruleFile,
    },
  );
  const panels = panelsOf(readDashboard());
  const alerts = alertsOf(readRules());
  const faultsOfPanels = async () => {
    const faults = {};
    for (const panel of panels) {
      const found = await faultsOfPanel(prometheus, panel);
      if (found.length > 0) faults[panel.title] = found;
    }
    return faults;
  };
  const faultsOfAlerts = async () => {
    const faults = {};
    for (const { alert, expr } of alerts) {
      const found = await faultsOfQuery(prometheus, expr);
      if (found.length > 0) faults[alert] = found;
    }
    return faults;
  };
  const holding = async () => {
    const names = [];
    for (const { alert, expr } of alerts) if ((await prometheus.query(expr)).length > 0) names.push(alert);
    return names.sort();
  };
  /** The alerts that Prometheus itself reports as pending or firing. */
  const active = async () =>
    (await prometheus.rules())
      .filter(({ state }) => state !== 'inactive')
      .map(({ name }) => name)
      .sort();
  // A counter has increased only if Prometheus has seen its earlier value.
  await prometheus.scrapeAndEvaluate();
  await prometheus.scrapeAndEvaluate();

  it('accepts every rule', async () => {
    const rules = await prometheus.rules();
    assert.deepEqual(rules.map(({ name }) => name).sort(), alerts.map(({ alert }) => alert).sort());
    for (const { name, health, lastError } of rules) assert.equal(health, 'ok', `${name}: ${lastError}`);
  });

  it('scrapes every gateway, and the variable of the dashboard lists them', async () => {
    assert.deepEqual(
      (await prometheus.query('up{job="stampgate"}')).map(({ value }) => value),
      [1, 1, 1],
    );
    const { query } = readDashboard().templating.list.find(({ name }) => name === 'instance');
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(query.query);
    const values = await prometheus.get(`label/${label}/values`, { 'match[]': metric });
    assert.deepEqual(values.sort(), [plain, tls, shared].map(({ adminUrl }) => new URL(adminUrl).host).sort());
  });

  it('finds a number for every query of the dashboard while healthy gateways serve calls', async () => {
    const subscriber = await Subscriber.start(plain);
    const consumer = await Consumer.start(plain);
    for (let i = 0; i < 3; ++i) {
      await plain.call(SUBMIT.method, SUBMIT.request);
      await plain.call(QUERY.method, QUERY.request);
    }
    await subscriber.events(3);
    await consumer.settle(await consumer.deliveries(3));
    await prometheus.scrapeAndEvaluate();
    const faults = await faultsOfPanels();
    await subscriber.leave();
    await consumer.leave();
    const report = JSON.stringify(faults, null, 1);
    assert.deepEqual(Object.keys(faults).sort(), Object.keys(EMPTY_WHEN_HEALTHY).sort(), report);
  });

  it('finds that no alert holds for healthy gateways, whose metrics have the series of the alerts', async () => {
    assert.deepEqual(Object.keys(await faultsOfAlerts()).sort(), Object.keys(WITHOUT_SERIES_WHEN_HEALTHY).sort());
    assert.deepEqual(await holding(), []);
    assert.deepEqual(await active(), []);
  });

  it('does not accept misspelt names and wrong expressions', async () => {
    const errors = 'stampgate_call_errors_total';
    for (const [expr, fault] of [
      ['stampgate_audit_fails == 1', 'stampgate_audit_fails selects no series'],
      [`rate(${errors}{reason="UPSTREAM_BUZY"}[1m])`, `${errors}{reason="UPSTREAM_BUZY"} selects no series`],
      ['up{job="stampgat"} == 0', 'up{job="stampgat"} selects no series'],
      ['stampgate_subscribers + on (instance) stampgate_subscriber', 'stampgate_subscriber selects no series'],
      ['sum(rate(stampgate_calls_total))', /expected type range vector/],
    ]) {
      const [first, ...more] = await faultsOfQuery(prometheus, expr);
      assert.deepEqual(more, []);
      if (fault instanceof RegExp) assert.match(first, fault);
      else assert.equal(first, fault);
    }
    const panel = (expr, legendFormat = '') => ({ title: 'A', targets: [{ expr, legendFormat }] });
    for (const [faulty, fault] of [
      [panel('stampgate_calls_in_flight < 0'), 'A: stampgate_calls_in_flight < 0 returns no number'],
      [panel('sum(stampgate_calls_in_flight)', '{{instance}}'), 'A: a series has no label instance'],
    ]) {
      assert.deepEqual(await faultsOfPanel(prometheus, faulty), [fault]);
    }
  });

  it('finds exactly the alerts of the faults, and a number for every query of the dashboard', async () => {
    // Upstream fails. Prometheus must see the first error with a code before it can see an increase.
    await failAtUpstream({ simulator, gateway: plain }, 500);
    await prometheus.scrapeAndEvaluate();
    assert.equal((await failAtUpstream({ simulator, gateway: plain }, 500)).reason, 'HTTP_500');
    assert.equal((await failAtUpstream({ simulator, gateway: plain }, 503)).reason, 'UPSTREAM_UNAVAILABLE');
    assert.equal((await failAtUpstream({ simulator, gateway: plain }, 401)).reason, 'GATEWAY_CREDENTIAL_REJECTED');
    simulator.addFaults([{ kind: 'readAndClose' }]);
    assert.equal(described(await plain.refusal(SUBMIT.method, SUBMIT.request)).reason, 'OUTCOME_UNKNOWN');
    // A caller refuses to wait.
    simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
    const left = start(plain, SUBMIT);
    await simulator.waitFor({ held: 1 });
    left.cancel();
    await left.ended;
    const detached = async () => (await metricsOf(plain)).get('stampgate_detached_exchanges');
    await until(async () => (await detached()) === 1, 'the submit continues without its caller');
    // A request is invalid.
    await plain.refusal(QUERY.method, {});
    // Deliveries have faults.
    simulator.webhooks.change({ maxAttempts: 1 });
    const { eventId, body } = await deliver(simulator);
    const statuses = [];
    for (const event of [
      // The same event id with another body of the same organization.
      { eventId, json: { ...JSON.parse(body), another: 'member' } },
      { faults: [{ kind: 'otherKey' }] },
      { faults: [{ kind: 'missingHeader', header: 'Timestamp' }] },
      { faults: [{ kind: 'timestamp', offsetMs: -3_600_000 }] },
      { faults: [{ kind: 'version' }] },
    ]) {
      statuses.push((await deliver(simulator, event)).status);
    }
    assert.deepEqual(statuses, [200, 401, 400, 503, 503]);
    // A config is wrong, and the server of a store ends.
    await breakConfig(tls);
    // Prometheus must see two counts of the failed reload.
    await prometheus.scrapeAndEvaluate();
    const seen = await failedReloads(tls);
    await until(async () => (await failedReloads(tls)) > seen, 'the reload fails again');
    await postgres.stop();
    const isFailing = async (name) => (await metricsOf(shared)).get(name) === 1;
    await until(() => isFailing('stampgate_event_log_failing'), 'the event log fails');
    await until(() => isFailing('stampgate_call_store_failing'), 'the store of idempotency keys fails');
    await until(() => isFailing('stampgate_rate_shares_failing'), 'the gateway gets no share of the rates');
    assert.equal((await deliver(stack.simulator, { url: shared.webhookUrl })).status, 503);

    await prometheus.scrapeAndEvaluate();
    assert.deepEqual(await holding(), FIRING);
    assert.deepEqual(await active(), FIRING);
    // No series and no number is missing now.
    assert.deepEqual(await faultsOfAlerts(), {});
    assert.deepEqual(await faultsOfPanels(), {});
    simulator.release();
  });

  it('renders the texts of alerts with their labels', async () => {
    const { alerts: firing } = await prometheus.get('alerts');
    assert.ok(firing.length >= FIRING.length);
    for (const { labels, annotations } of firing) {
      for (const text of Object.values(annotations)) assert.doesNotMatch(text, /<|\{\{/, labels.alertname);
      if (labels.instance) assert.ok(annotations.summary.includes(labels.instance), annotations.summary);
    }
  });

  it('notices a gateway that has ended', async () => {
    await stack.kill(shared);
    const isNoticed = async () => (await active()).includes('StampgateDown');
    await until(isNoticed, 'the alert StampgateDown is pending');
    const down = await prometheus.query(alerts.find(({ alert }) => alert === 'StampgateDown').expr);
    assert.deepEqual(
      down.map(({ labels }) => labels.instance),
      [new URL(shared.adminUrl).host],
    );
  });
});
