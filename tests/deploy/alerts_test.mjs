// Each alert fires when its fault has lasted long enough, and not earlier. No other alert fires with it, except those
// that the test lists. No alert fires for a healthy gateway. Prometheus's own promtool evaluates the rules over the
// series of real gateways. For each fault, the test changes some of these series.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { goPrograms, prometheusPrograms } from '../paths.mjs';
import { alertsOf, allMetrics, namesIn, panelsOf, parseSeries, readDashboard, readRules } from './monitoring.mjs';

/** Prometheus 2 and 3 evaluate some expressions differently. With one of them, the tests also find broken alerts. */
const PROMTOOLS = {
  "Debian's promtool": { command: join(prometheusPrograms, 'promtool'), findsBroken: true },
  'promtool of Prometheus 3': { command: join(goPrograms, 'promtool'), needsGo: true },
};

const TARGET = {
  job: 'stampgate',
  instance: '10.0.0.7:8081',
  namespace: 'stampgate',
  pod: 'stampgate-0',
  container: 'stampgate',
  endpoint: 'admin',
};
/** The series that a fault changes have healthy values up to this minute. */
const LAST_GOOD = 5;
const END = 200;
const DAY = 86400;

const errors = (reason) => `stampgate_call_errors_total{reason="${reason}"}`;
const deliveries = (outcome) => `stampgate_deliveries_total{outcome="${outcome}"}`;

const LANES = ['submit', 'query', 'key_set'];
/** The series of some buckets of a lane's exchanges. `values` has the values of each series by the bucket's bound. */
const exchanges = (lane, values) =>
  Object.fromEntries(
    Object.entries(values).map(([le, value]) => [
      `stampgate_upstream_exchange_duration_seconds_bucket{lane="${lane}",le="${le}"}`,
      value,
    ]),
  );

/** Returns a counter that is 0 up to LAST_GOOD, and then increases by `step` each minute. */
const rises = (step = 1) => `0x${LAST_GOOD} ${step}+${step}x${END}`;
/** Returns a gauge that changes from `good` to `value` after LAST_GOOD. */
const becomes = (value, good = 0) => `${good}x${LAST_GOOD} ${value}x${END}`;

/** The series that traffic changes in a healthy gateway; the others keep their values. Time begins at 0. */
const HEALTHY = {
  up: `1x${END}`,
  process_start_time_seconds: `1000x${END}`,
  process_resident_memory_bytes: `200000000x${END}`,
  process_open_fds: `60x${END}`,
  process_max_fds: `1024x${END}`,
  'stampgate_calls_total{code="OK",method="/stampgate.v1.PolicyService/GetPolicy"}': `0+600x${END}`,
  'stampgate_calls_total{code="INTERNAL",method="/stampgate.v1.PolicyService/GetPolicy"}': `0+6x${END}`,
  ...Object.assign(
    {},
    ...LANES.map((lane) =>
      exchanges(lane, Object.fromEntries(['1', '2.5', '5', '10', '30', '+Inf'].map((le) => [le, `0+60x${END}`]))),
    ),
  ),
  [errors('INVALID_REQUEST')]: `0+60x${END}`,
  [errors('UPSTREAM_UNAVAILABLE')]: `0+6x${END}`,
  [errors('DENIED_BY_POLICY')]: `0+6x${END}`,
  [deliveries('stored')]: `0+60x${END}`,
  [deliveries('duplicate')]: `0+1x${END}`,
  [deliveries('not_found')]: `0+60x${END}`,
  'stampgate_tls_handshakes_failed_total{reason="no_hello"}': `0+60x${END}`,
  'stampgate_tls_handshakes_failed_total{reason="unfinished"}': `0+1x${END}`,
  'stampgate_reloads_total{result="failed",what="config"}': `3x${END}`,
  'stampgate_webhook_peers_displaced_total{peer="unproven"}': `0+1x${END}`,
  stampgate_tls_certificate_not_after_timestamp_seconds: `${30 * DAY}x${END}`,
  stampgate_webhook_tls_certificate_not_after_timestamp_seconds: `${30 * DAY}x${END}`,
  stampgate_event_log_bytes: `4000000000x${END}`,
  stampgate_subscriber_lag_events: `0 900 0 900 0 900x${END}`,
  stampgate_detached_exchanges: `2x${END}`,
  stampgate_connections: `200x${END}`,
  stampgate_audit_file_bytes: `0 268435456x${END}`,
  stampgate_detached_exchange_oldest_age_seconds: `25x${END}`,
  stampgate_audit_oldest_open_call_seconds: `55x${END}`,
  stampgate_idempotency_keys: `1000000x${END}`,
  'stampgate_upstream_waiting_calls{lane="submit"}': `0 7 0 7 0 7 0 7 0x${END}`,
};

/**
 * Each fault changes series and lets its alert fire. `labels` are the alert's labels besides those of the target.
 * `after` is the number of minutes from the change until the expression of the alert holds. The alerts of `also` fire
 * earlier.
 */
const FAULTS = [
  { alert: 'StampgateDown', series: { up: becomes(0, 1) } },
  { alert: 'StampgateAbsent', series: { up: `1x${LAST_GOOD} stale` }, target: { job: 'stampgate' } },
  {
    alert: 'StampgateRestarts',
    series: { process_start_time_seconds: `1000x${LAST_GOOD} 1300x4 1600x4 1900x${END}` },
    after: 10,
  },
  { alert: 'StampgateDescriptorsRunOut', series: { process_open_fds: becomes(900, 60) } },
  { alert: 'StampgateMemoryHigh', series: { process_resident_memory_bytes: becomes(1e9, 2e8) } },
  { alert: 'StampgateLogLinesDropped', series: { stampgate_log_lines_dropped_total: rises() } },
  {
    alert: 'StampgateUpstreamFails',
    each: ['UNREACHABLE', 'UNAVAILABLE', 'TIMEOUT', 'ANSWER_UNREADABLE', 'BUSY'].map((reason) => `UPSTREAM_${reason}`),
    series: (reason) => ({ [errors(reason)]: rises(300) }),
  },
  {
    alert: 'StampgateUpstreamFails',
    also: ['StampgateOutcomeUnknown'],
    series: { [errors('OUTCOME_UNKNOWN')]: rises(300) },
  },
  {
    alert: 'StampgateInternalErrors',
    series: { 'stampgate_calls_total{code="INTERNAL",method="/stampgate.v1.PolicyService/GetPolicy"}': rises(300) },
  },
  {
    alert: 'StampgateUpstreamSlow',
    each: LANES,
    // From LAST_GOOD on, each exchange takes longer than 5 s.
    series: (lane) =>
      exchanges(lane, {
        ...Object.fromEntries(['1', '2.5', '5'].map((le) => [le, `0+60x${LAST_GOOD} ${60 * LAST_GOOD}x${END}`])),
        ...Object.fromEntries(['10', '30', '+Inf'].map((le) => [le, `0+60x${END}`])),
      }),
    labels: (lane) => ({ lane }),
  },
  {
    alert: 'StampgateOutcomeUnknown',
    each: ['OUTCOME_UNKNOWN', 'OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN'],
    series: (reason) => ({ [errors(reason)]: becomes(1) }),
  },
  { alert: 'StampgateCredentialRejected', series: { [errors('GATEWAY_CREDENTIAL_REJECTED')]: becomes(1) } },
  { alert: 'StampgateSigningFailed', series: { [errors('SIGNING_FAILED')]: becomes(1) } },
  {
    alert: 'StampgateCallsWait',
    each: LANES,
    series: (lane) => ({ [`stampgate_upstream_waiting_calls{lane="${lane}"}`]: becomes(3) }),
    labels: (lane) => ({ lane }),
  },
  {
    alert: 'StampgateRateUsedUp',
    each: ['no_place', 'wait_too_long'],
    series: (reason) => ({
      'stampgate_admission_admitted_total{class="query"}': `0+60x${END}`,
      [`stampgate_admission_refused_total{class="query",reason="${reason}"}`]: rises(60),
    }),
  },
  {
    alert: 'StampgateRateExceeded',
    series: { 'stampgate_upstream_retries_total{cause="rate_limited"}': rises() },
  },
  {
    alert: 'StampgateRateExceeded',
    also: ['StampgateRetriesWithheld'],
    series: { 'stampgate_upstream_retries_withheld_total{cause="rate_limited"}': rises() },
  },
  {
    alert: 'StampgateBreakerOpen',
    each: ['submit', 'query'],
    series: (lane) => ({ [`stampgate_upstream_breaker_open{lane="${lane}"}`]: becomes(1) }),
    labels: (lane) => ({ lane }),
  },
  {
    alert: 'StampgateRetriesWithheld',
    series: { 'stampgate_upstream_retries_withheld_total{cause="broken"}': rises() },
  },
  { alert: 'StampgateRateSharesFail', series: { stampgate_rate_shares_failing: becomes(1) } },
  { alert: 'StampgateQuotasFail', series: { stampgate_quotas_failing: becomes(1) } },
  {
    alert: 'StampgateQuotaUsedUp',
    series: { 'stampgate_quota_unused_calls{window="24h"}': becomes(0, 1000) },
    labels: { window: '24h' },
  },
  {
    alert: 'StampgateDetachedExchangeOld',
    series: { stampgate_detached_exchange_oldest_age_seconds: becomes(61, 25) },
  },
  { alert: 'StampgateDetachedExchangesMany', series: { stampgate_detached_exchanges: becomes(24, 2) } },
  { alert: 'StampgateTimestampsExhausted', series: { [errors('TIMESTAMPS_EXHAUSTED')]: rises() } },
  {
    alert: 'StampgateCallsDenied',
    each: ['CALLER_NOT_RECOGNIZED', 'DENIED_BY_POLICY'],
    series: (reason) => ({ [errors(reason)]: rises(600) }),
  },
  {
    alert: 'StampgateCallsOverLimits',
    each: ['TOO_MANY_CALLS', 'TOO_MANY_SUBSCRIBERS'],
    series: (reason) => ({ [errors(reason)]: rises() }),
  },
  { alert: 'StampgateConnectionsMany', series: { stampgate_connections: becomes(3277, 200) } },
  {
    alert: 'StampgateConnectionsClosed',
    each: ['header_bytes', 'connections', 'bytes_of_all'],
    series: (reason) => ({ [`stampgate_connections_closed_total{reason="${reason}"}`]: rises() }),
    labels: (reason) => ({ reason }),
  },
  {
    alert: 'StampgateTlsHandshakesFail',
    each: ['hello_refused', 'no_certificate', 'certificate_refused', 'unfinished', 'no_caller'],
    series: (reason) => ({ [`stampgate_tls_handshakes_failed_total{reason="${reason}"}`]: rises(120) }),
    labels: (reason) => ({ reason }),
  },
  { alert: 'StampgateAuditFails', series: { stampgate_audit_failing: becomes(1) } },
  { alert: 'StampgateAuditHangs', series: { stampgate_audit_write_seconds: becomes(6) } },
  { alert: 'StampgateAuditFileNotRotated', series: { stampgate_audit_file_bytes: becomes(3e8, 1e8) } },
  { alert: 'StampgateAuditOutcomeMissing', series: { stampgate_audit_oldest_open_call_seconds: becomes(91, 55) } },
  { alert: 'StampgateCallStoreFails', series: { stampgate_call_store_failing: becomes(1) } },
  { alert: 'StampgateCallStoreHangs', series: { stampgate_call_store_write_seconds: becomes(6) } },
  { alert: 'StampgateIdempotencyKeysMany', series: { stampgate_idempotency_keys: becomes(9000001, 1000000) } },
  { alert: 'StampgateEventLogHangs', series: { stampgate_event_log_write_seconds: becomes(6) } },
  { alert: 'StampgateEventLogFails', series: { stampgate_event_log_failing: becomes(1) } },
  { alert: 'StampgateEventsNotStored', series: { [deliveries('not_stored')]: rises() } },
  { alert: 'StampgateEventsLost', series: { stampgate_events_lost_total: becomes(2) } },
  { alert: 'StampgateEventLogFull', series: { stampgate_event_log_bytes: becomes(9.9e9, 4e9) } },
  { alert: 'StampgateEventLogUnreadable', series: { [errors('EVENT_LOG_UNAVAILABLE')]: rises() } },
  { alert: 'StampgateSubscriberLags', series: { stampgate_subscriber_lag_events: becomes(1001) } },
  {
    alert: 'StampgateSubscriberMissesEvents',
    each: ['EVENTS_TRIMMED', 'EVENTS_LOST', 'EVENT_DAMAGED', 'CURSOR_AHEAD_OF_LOG'],
    series: (reason) => ({ [errors(reason)]: becomes(1) }),
  },
  {
    alert: 'StampgateSubscriptionLags',
    series: { 'stampgate_subscription_oldest_age_seconds{subscription="payouts"}': becomes(601) },
    labels: { subscription: 'payouts' },
  },
  {
    alert: 'StampgateEventsParked',
    series: { 'stampgate_subscription_parks_total{subscription="payouts"}': rises() },
    labels: { subscription: 'payouts' },
  },
  {
    alert: 'StampgateSubscriptionMissesEvents',
    series: { 'stampgate_subscription_lost_events_total{subscription="payouts"}': becomes(1) },
    labels: { subscription: 'payouts' },
  },
  {
    alert: 'StampgateSubscriptionNearRetention',
    series: {
      'stampgate_subscription_oldest_age_seconds{subscription="payouts"}': becomes(7 * DAY - 3600),
      stampgate_event_log_oldest_age_seconds: `${7 * DAY}x${END}`,
    },
    labels: { subscription: 'payouts' },
  },
  {
    alert: 'StampgateSubscriptionNotStored',
    series: { 'stampgate_subscription_failed_writes_total{subscription="payouts"}': rises() },
    labels: { subscription: 'payouts' },
  },
  { alert: 'StampgateSubscriptionNotServed', series: { stampgate_subscriptions_not_served: becomes(1) } },
  {
    alert: 'StampgateSubscriptionSettingsOverruled',
    series: { 'stampgate_subscription_settings_overruled{subscription="payouts"}': becomes(1) },
    labels: { subscription: 'payouts' },
  },
  {
    alert: 'StampgateDeliverySignaturesInvalid',
    series: { [deliveries('invalid_signature')]: becomes(1) },
    labels: { outcome: 'invalid_signature' },
  },
  {
    alert: 'StampgateDeliveriesRejected',
    each: ['missing_header', 'duplicate_header', 'malformed_header', 'method_not_allowed', 'too_large'],
    series: (outcome) => ({ [deliveries(outcome)]: becomes(1) }),
  },
  {
    alert: 'StampgateProxyHeadersWrong',
    each: ['proxy_header_missing', 'proxy_header_unexpected'],
    series: (outcome) => ({ [deliveries(outcome)]: rises() }),
  },
  {
    alert: 'StampgateWebhookPathMissing',
    series: { [deliveries('no_path')]: rises() },
    labels: { outcome: 'no_path' },
  },
  {
    alert: 'StampgateDeliveriesUnverifiable',
    each: [
      'missing_key',
      'unsupported_signature_version',
      'unsupported_signature_algorithm',
      'invalid_verification_key_algorithm',
      'unsupported_identifier',
    ],
    series: (outcome) => ({ [deliveries(outcome)]: rises() }),
  },
  {
    alert: 'StampgateDeliveriesConflict',
    series: { [deliveries('conflict')]: becomes(1) },
    labels: { outcome: 'conflict' },
  },
  { alert: 'StampgateDeliveriesStale', series: { [deliveries('stale_timestamp')]: rises() } },
  {
    alert: 'StampgateWebhookConnectionsCut',
    series: { 'stampgate_webhook_peers_displaced_total{peer="proven"}': rises() },
    labels: { peer: 'proven' },
  },
  { alert: 'StampgateWebhookConnectionsCut', series: { stampgate_webhook_peers_refused_total: rises() } },
  {
    alert: 'StampgateDeliveriesCut',
    each: ['too_slow', 'max_bytes_reached'],
    series: (outcome) => ({ [deliveries(outcome)]: rises() }),
  },
  {
    alert: 'StampgateUpstreamMoved',
    each: ['value', 'event_type'],
    series: (kind) => ({ [`stampgate_unrecognized_total{kind="${kind}",operation="events"}`]: becomes(1) }),
    labels: (kind) => ({ kind, operation: 'events' }),
  },
  {
    alert: 'StampgateReloadFails',
    series: { 'stampgate_reloads_total{result="failed",what="config"}': `3x${LAST_GOOD} 15+12x${END}` },
    labels: { what: 'config' },
  },
  { alert: 'StampgateOrganizationsNotApplied', series: { stampgate_grants_without_their_file: becomes(2) } },
  ...[
    ['stampgate_tls_certificate_not_after_timestamp_seconds', 'gRPC'],
    ['stampgate_webhook_tls_certificate_not_after_timestamp_seconds', 'webhook'],
  ].flatMap(([series, port]) => [
    { alert: 'StampgateCertificateExpires', series: { [series]: becomes(7 * DAY, 30 * DAY) }, labels: { port } },
    { alert: 'StampgateCertificateExpiresTomorrow', series: { [series]: becomes(DAY, 30 * DAY) }, labels: { port } },
  ]),
].flatMap(({ each, series, labels, ...rest }) =>
  each === undefined
    ? [{ series, labels, ...rest }]
    : each.map((one) => ({ series: series(one), labels: labels?.(one), ...rest })),
);

/** The labels that each of these alerts keeps from its series, with their values. */
const KEPT = {
  StampgateCredentialRejected: { reason: 'GATEWAY_CREDENTIAL_REJECTED' },
  StampgateSigningFailed: { reason: 'SIGNING_FAILED' },
  StampgateTimestampsExhausted: { reason: 'TIMESTAMPS_EXHAUSTED' },
  StampgateEventLogUnreadable: { reason: 'EVENT_LOG_UNAVAILABLE' },
  StampgateEventsNotStored: { outcome: 'not_stored' },
  StampgateDeliveriesStale: { outcome: 'stale_timestamp' },
};

const minutes = (duration = '0m') => {
  const [, number, unit] = /^(\d+)([mh])$/.exec(duration);
  return Number(number) * { m: 1, h: 60 }[unit];
};

const withTarget = (series, target = TARGET) => {
  const { name, labels } = parseSeries(series);
  const all = Object.entries({ ...labels, ...target }).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${all.join(',')}}`;
};

/** Returns the alert as promtool expects it. Replaces the labels in its texts by their values. */
function expected({ alert, labels: { severity }, annotations }, own) {
  const labels = { ...own, ...KEPT[alert], severity };
  const render = (text) =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label) => {
      assert.ok(labels[label], `${alert} has no label ${label}`);
      return labels[label];
    });
  const texts = Object.entries(annotations).map(([name, text]) => [name, render(text)]);
  return { exp_labels: labels, exp_annotations: Object.fromEntries(texts) };
}

/**
 * Returns a test of promtool. `changed` contains the series that differ from those of a healthy gateway. `firing`
 * contains, by minute and by name, the alerts that must fire.
 */
function testOf(name, baseline, changed, alerts, firing) {
  for (const series of Object.keys(changed)) assert.ok(series === 'up' || baseline.has(series), `no ${series}`);
  const values = new Map([...baseline].map(([series, value]) => [series, `${value}x${END}`]));
  for (const [series, text] of Object.entries({ ...HEALTHY, ...changed })) values.set(series, text);
  return {
    name,
    interval: '1m',
    input_series: [...values].map(([series, text]) => ({ series: withTarget(series), values: text })),
    alert_rule_test: Object.entries(firing).flatMap(([minute, fired]) =>
      alerts.map(({ alert }) => ({
        eval_time: `${minute}m`,
        alertname: alert,
        exp_alerts: fired[alert] ? [fired[alert]] : [],
      })),
    ),
  };
}

/** Returns the test of a healthy gateway and the tests of all faults, for these rules. */
function testsOf(rules, baseline) {
  const alerts = alertsOf(rules);
  const healthy = testOf('a healthy gateway', baseline, {}, alerts, { 0: {}, 30: {}, 90: {}, [END]: {} });
  return [
    healthy,
    ...FAULTS.map(({ alert: name, series, labels, after: holds = 0, target = TARGET, also = [] }) => {
      const alert = alerts.find((each) => each.alert === name);
      assert.ok(alert, `no alert ${name}`);
      const fires = LAST_GOOD + 1 + holds + minutes(alert.for);
      const fired = Object.fromEntries(
        [name, ...also].map((each) => [
          each,
          expected(
            alerts.find((one) => one.alert === each),
            { ...target, ...labels },
          ),
        ]),
      );
      const early = Object.fromEntries(also.map((each) => [each, fired[each]]));
      const what = `${name}: ${Object.keys(series)}`;
      return testOf(what, baseline, series, alerts, { [fires - 1]: early, [fires]: fired });
    }),
  ];
}

/** Ways to break an alert. */
const BROKEN = [
  ['fires too early', (alert) => delete alert.for],
  ['never fires', (alert) => (alert.expr = `(${alert.expr}) and on () vector(0) > 1`)],
  ['always fires', (alert) => (alert.expr = 'up == 1')],
  ['has another severity', (alert) => (alert.labels.severity = 'info')],
  ['names a label that it does not have', (alert) => (alert.annotations.summary += ' {{ $labels.reason }}')],
];

it('each alert has a fault in which it fires', () => {
  const names = alertsOf(readRules())
    .map(({ alert }) => alert)
    .sort();
  assert.deepEqual([...new Set(FAULTS.map(({ alert }) => alert))].sort(), names);
});

// The programs evaluate every rule for every fault, which takes long on a busy machine.
describe('the alerts', { timeout: 40 * HANG_MS }, async () => {
  const metrics = await allMetrics({ after });
  for (const [name, { command, needsGo, findsBroken }] of Object.entries(PROMTOOLS)) {
    const skip = needsGo && !existsSync(command) && 'deploy/install --tests has not built it';
    describe(`for ${name}`, { timeout: 20 * HANG_MS, skip }, () => testAlerts(command, metrics, findsBroken));
  }
});

/**
 * Runs the tests of the alerts with this promtool. `metrics` are those of healthy gateways.
 * @param {string} command
 * @param {Map<string, number>} metrics
 * @param {boolean} [findsBroken] whether the tests of alerts that are broken on purpose run too
 */
function testAlerts(command, metrics, findsBroken) {
  const work = scratch({ after });
  /** Writes the contents in `files` as JSON, which is YAML, to a new folder. Runs promtool on the last file. */
  const promtool = (args, files) => {
    const folder = mkdtempSync(join(work, 'promtool-'));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
    // The tests of all faults take promtool half a minute on an idle machine.
    return run([...args, join(folder, Object.keys(files).at(-1))], { command, hangMs: 10 * HANG_MS });
  };
  const check = (rules) => promtool(['check', 'rules', '--lint=all', '--lint-fatal'], { 'rules.json': rules });
  const test = (rules, tests) =>
    promtool(['test', 'rules'], {
      'rules.json': rules,
      'tests.json': { rule_files: ['rules.json'], evaluation_interval: '1m', tests },
    });

  const rules = readRules();
  const used = new Set(alertsOf(rules).flatMap(({ expr }) => namesIn(expr).selectors.map(({ metric }) => metric)));
  const baseline = new Map([...metrics].filter(([series]) => used.has(parseSeries(series).name)));
  const tests = testsOf(rules, baseline);

  it('are valid rules of Prometheus', async () => {
    const { status, stdout, stderr } = await check(rules);
    assert.equal(status, 0, stdout + stderr);
    assert.ok(stdout.includes(`${alertsOf(rules).length} rules found`), stdout);
  });

  it('that are no rules are found', async () => {
    const broken = readRules();
    alertsOf(broken)[0].expr = 'up{job="stampgate"';
    assert.notEqual((await check(broken)).status, 0);
  });

  it('fire in their faults, alone and in time, and do not fire for a healthy gateway', async () => {
    const { status, stdout, stderr } = await test(rules, tests);
    assert.equal(status, 0, stdout + stderr);
  });

  for (const [what, breakIt] of findsBroken ? BROKEN : []) {
    it(`of which one ${what} are found`, async () => {
      const broken = readRules();
      breakIt(alertsOf(broken).find(({ alert }) => alert === 'StampgateAuditFails'));
      const fault = tests.filter(({ name }) => name === 'a healthy gateway' || name.startsWith('StampgateAuditFails'));
      assert.equal(fault.length, 2);
      const { status, stdout, stderr } = await test(broken, fault);
      assert.equal(status, 1, stdout + stderr);
      assert.match(stdout + stderr, /alertname: StampgateAuditFails/);
    });
  }

  it('and the queries of the dashboard are valid expressions', async () => {
    const expressions = panelsOf(readDashboard()).flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const record = (expr, i) => ({ record: `panel_${i}`, expr: expr.replaceAll('$__rate_interval', '5m') });
    const recordings = (list) => ({ groups: [{ name: 'dashboard', rules: list.map(record) }] });
    const { status, stdout, stderr } = await check(recordings(expressions));
    assert.equal(status, 0, stdout + stderr);
    assert.notEqual((await check(recordings(['sum by (code) (rate(stampgate_calls_total))']))).status, 0);
  });
}
