// Tests the monitoring component: its rules and dashboard use only names of the gateway's metrics, and its manifests
// fit those of the base.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { HANG_MS, scratch } from '../end_to_end/harness.mjs';
import { render, skip } from '../kubernetes/checker.mjs';
import { find, folder as kubernetes, configOf, parse, podOf, readAll } from './manifests.mjs';
import {
  TARGET_LABELS,
  alertsOf,
  allMetrics,
  dashboardText,
  folder,
  namesIn,
  panelsOf,
  parseSeries,
  readDashboard,
  readObject,
  readRules,
} from './monitoring.mjs';

const JOB = 'stampgate';

/** Returns the labels of each metric, and the values of each label. */
function catalogue(metrics) {
  const all = new Map();
  for (const series of metrics.keys()) {
    const { name, labels } = parseSeries(series);
    if (!all.has(name)) all.set(name, new Map());
    for (const [label, value] of Object.entries(labels)) {
      const values = all.get(name);
      values.set(label, (values.get(label) ?? new Set()).add(value));
    }
  }
  return all;
}

/** Returns the names in an expression, and in the labels of its legend, that the catalogue does not contain. */
function unknownNames(all, expression, legendLabels = []) {
  const { selectors, labels } = namesIn(expression);
  const faults = selectors.length === 0 ? [`${expression} selects nothing`] : [];
  const allowed = new Set(TARGET_LABELS);
  for (const { metric, matchers } of selectors) {
    const own = metric === 'up' ? new Map() : all.get(metric);
    if (own === undefined) {
      faults.push(metric);
      continue;
    }
    for (const label of own.keys()) allowed.add(label);
    for (const { label, value } of matchers) {
      if (label === 'job' ? value === JOB : TARGET_LABELS.includes(label) && value.startsWith('$')) continue;
      for (const each of value.split('|')) {
        if (!own.get(label)?.has(each)) faults.push(`${metric}{${label}="${each}"}`);
      }
    }
  }
  faults.push(...[...labels, ...legendLabels].filter((label) => !allowed.has(label)));
  return faults;
}

const labelsIn = (legend) => [...legend.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label]) => label);

/** The metrics that no panel shows, each with the reason. */
const WITHOUT_PANEL = {
  stampgate_audit_head_info: 'Only another program needs the text in its label.',
};

/** The name of the metric, without the suffixes of a histogram's series. */
const familyOf = (name) => name.replace(/_seconds_(bucket|count|sum)$/, '_seconds');
const metricsOfExpression = (expr) => namesIn(expr).selectors.map(({ metric }) => familyOf(metric));
const metricsIn = ({ targets }) => targets.flatMap(({ expr }) => metricsOfExpression(expr));

describe('the names', { timeout: HANG_MS }, async () => {
  const all = catalogue(await allMetrics({ after }));

  it('of all metrics of the gateway are in a panel, except those that no panel can show', () => {
    const shown = new Set(panelsOf(readDashboard()).flatMap(metricsIn));
    const missing = [...new Set([...all.keys()].map(familyOf))].filter((name) => !shown.has(name));
    assert.deepEqual(missing, Object.keys(WITHOUT_PANEL));
  });

  it('of all metrics, with their labels, are in the table of deploy/README.md, and it has no others', () => {
    const shown = new Map();
    for (const [name, labels] of all) {
      shown.set(
        familyOf(name),
        [...labels.keys()]
          .filter((label) => label !== 'le')
          .sort()
          .join(),
      );
    }
    const page = readFileSync(join(kubernetes, '..', 'README.md'), 'utf8');
    const [, table] = /^\| metric \(each name begins with `stampgate_`\) .*\n.*\n((?:\|.*\n)+)/m.exec(page);
    const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => [
      ...cell.matchAll(/`(\w+)(?:\{([^}]*)\})?`/g),
    ]);
    const listed = new Map(
      named.map(([, name, labels = '']) => [
        name.startsWith('process_') ? name : `stampgate_${name}`,
        labels.split(',').sort().join(),
      ]),
    );
    assert.deepEqual([...listed].sort(), [...shown].sort());
  });

  it('in the rules are metrics, labels and label values of the gateway', () => {
    const alerts = alertsOf(readRules());
    assert.ok(alerts.length > 30);
    for (const { alert, expr } of alerts) assert.deepEqual(unknownNames(all, expr), [], alert);
  });

  it('in the dashboard are metrics, labels and label values of the gateway', () => {
    const panels = panelsOf(readDashboard());
    assert.ok(panels.length > 30);
    for (const { title, targets } of panels) {
      for (const { expr, legendFormat } of targets) {
        assert.deepEqual(unknownNames(all, expr, labelsIn(legendFormat)), [], title);
      }
    }
    for (const { type, query } of readDashboard().templating.list) {
      if (type !== 'query') continue;
      const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(query.query);
      assert.deepEqual(unknownNames(all, metric, [label]), []);
    }
  });

  it('that are misspelt are found', () => {
    const errors = 'stampgate_call_errors_total';
    for (const [expression, ...faults] of [
      ['stampgate_audit_fails == 1', 'stampgate_audit_fails'],
      ['process_open_fds{job="stampgate"} / process_max_fd{job="stampgate"}', 'process_max_fd'],
      [`sum without (raison) (rate(${errors}[5m])) > 0.1`, 'raison'],
      [`increase(${errors}{reason=~"UPSTREAM_BUSY|UPSTREAM_BUZY"}[5m]) > 0`, `${errors}{reason="UPSTREAM_BUZY"}`],
      [`increase(${errors}{raeson="UPSTREAM_BUSY"}[5m]) > 0`, `${errors}{raeson="UPSTREAM_BUSY"}`],
      ['up{job="stampgat"} == 0', 'up{job="stampgat"}'],
      ['sum by (le) (rate(stampgate_call_duration_seconds[5m]))', 'stampgate_call_duration_seconds', 'le'],
      ['1 > 0', '1 > 0 selects nothing'],
    ]) {
      assert.deepEqual(unknownNames(all, expression), faults);
    }
    assert.deepEqual(unknownNames(all, 'stampgate_calls_in_flight', labelsIn('{{cod}} on {{instance}}')), ['cod']);
  });
});

describe('the alerts', () => {
  it('have unique names, a severity, a summary and a description that are sentences, and a section of the page', () => {
    const alerts = alertsOf(readRules());
    assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length);
    for (const { alert, labels, annotations } of alerts) {
      assert.match(alert, /^Stampgate[A-Z]\w+$/);
      assert.deepEqual(Object.keys(labels), ['severity'], alert);
      assert.ok(['critical', 'warning'].includes(labels.severity), alert);
      const { summary, description, runbook, ...more } = annotations;
      assert.deepEqual(more, {}, alert);
      for (const text of [summary, description]) assert.match(text, /^[A-Za-z][^\n]*\.$/, alert);
      assert.ok(description.length > summary.length, alert);
      // GitHub makes the anchor of a heading in this way.
      assert.equal(runbook, `deploy/kubernetes/monitoring/README.md#${alert.toLowerCase()}`);
    }
  });

  /** The text of a section's paragraphs, by heading. The page marks names of metrics, settings and the like. */
  const sections = () => {
    const [, text] = readFileSync(join(folder, 'README.md'), 'utf8').split('\n## The alerts\n');
    const parts = text.split('\n## ')[0].split('\n### ').slice(1);
    return parts.map((part) => {
      const [title, ...paragraphs] = part.trim().split('\n\n');
      return [title, paragraphs.map((each) => each.replaceAll('\n', ' ').replaceAll('`', ''))];
    });
  };

  it('have sections of the page with the texts of the rules, and with the panels that show their metrics', () => {
    const panels = panelsOf(readDashboard());
    const expected = alertsOf(readRules()).map(({ alert, expr, annotations: { summary, description } }) => {
      const own = new Set(metricsOfExpression(expr));
      const shown = panels.filter((panel) => metricsIn(panel).some((metric) => own.has(metric)));
      assert.ok(shown.length > 0, `${alert} has no panel`);
      // The page joins the two parts of the description: what the alert means, and the first action.
      return [
        alert,
        [
          summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label) => label.toUpperCase()),
          description,
          `**Panels:** ${shown.map(({ title }) => title).join('; ')}`,
        ].map((each) => each.replaceAll('`', '')),
      ];
    });
    const actual = sections().map(([title, [summary, meaning, action, ...rest]]) => {
      assert.match(meaning, /^\*\*Meaning:\*\* [A-Za-z]/, title);
      assert.match(action, /^\*\*First action:\*\* [A-Za-z]/, title);
      const description = [meaning, action].map((each) => each.replace(/^\*\*[^*]*\*\* /, '')).join(' ');
      return [title, [summary, description, ...rest]];
    });
    for (const [index, section] of expected.entries()) assert.deepEqual(actual[index], section);
    assert.equal(actual.length, expected.length);
  });

  it('have thresholds that follow the manifests', () => {
    const objects = readAll();
    const alertNamed = (name) => alertsOf(readRules()).find(({ alert }) => alert === name);
    const numberIn = (name) => Number(/> (\d+)$/.exec(alertNamed(name).expr)[1]);
    assert.equal(podOf(objects).containers[0].resources.limits.memory, '1Gi');
    assert.equal(numberIn('StampgateMemoryHigh'), Math.floor(0.9 * 2 ** 30));
    assert.equal(numberIn('StampgateEventLogFull'), Math.floor(0.9 * configOf(objects).events.retention_bytes));
  });
});

describe('the PodMonitor', () => {
  it("selects the base's pods and their admin port, and names the job of the rules", () => {
    const objects = readAll();
    const { metadata, spec } = readObject('pod_monitor.yaml');
    const stateful = find(objects, 'StatefulSet');
    assert.equal(metadata.namespace, stateful.metadata.namespace);
    assert.deepEqual(spec.selector, stateful.spec.selector);
    assert.equal(stateful.spec.template.metadata.labels[spec.jobLabel], JOB);
    const [endpoint, ...more] = spec.podMetricsEndpoints;
    assert.equal(more.length, 0);
    const port = podOf(objects).containers[0].ports.find(({ name }) => name === endpoint.port);
    assert.equal(configOf(objects).admin.listen_address, `0.0.0.0:${port.containerPort}`);
    assert.equal(endpoint.path, '/metrics');
    const [rule] = find(objects, 'NetworkPolicy', 'metrics-from-monitoring').spec.ingress;
    assert.equal(rule.ports[0].port, endpoint.port);
  });

  it('and the PrometheusRule have only members of the resource types', () => {
    const members = (object) => Object.keys(object).sort();
    const [monitor, rules] = ['pod_monitor.yaml', 'rules.yaml'].map(readObject);
    for (const [object, kind] of [
      [monitor, 'PodMonitor'],
      [rules, 'PrometheusRule'],
    ]) {
      assert.deepEqual(members(object), ['apiVersion', 'kind', 'metadata', 'spec']);
      assert.deepEqual([object.apiVersion, object.kind], ['monitoring.coreos.com/v1', kind]);
      assert.deepEqual(members(object.metadata), ['labels', 'name', 'namespace']);
    }
    assert.deepEqual(members(monitor.spec), ['jobLabel', 'podMetricsEndpoints', 'selector']);
    assert.deepEqual(members(monitor.spec.podMetricsEndpoints[0]), ['interval', 'path', 'port', 'scrapeTimeout']);
    assert.deepEqual(members(rules.spec), ['groups']);
  });
});

describe('the dashboard', () => {
  const dashboard = readDashboard();
  const { panels } = dashboard;

  it('has panels that fit into the grid and do not overlap, with unique ids and titles', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
    const taken = new Map();
    for (const {
      title,
      gridPos: { x, y, w, h },
    } of panels) {
      assert.ok(x >= 0 && w > 0 && h > 0 && x + w <= 24, title);
      for (let row = y; row < y + h; ++row) {
        for (let column = x; column < x + w; ++column) {
          assert.equal(taken.get(`${row},${column}`), undefined, title);
          taken.set(`${row},${column}`, title);
        }
      }
    }
  });

  it('queries the data source that its variable names', () => {
    const [source, instance, ...more] = dashboard.templating.list;
    assert.equal(more.length, 0);
    assert.deepEqual([source.type, source.name, source.query], ['datasource', 'datasource', 'prometheus']);
    const expected = { type: 'prometheus', uid: '${datasource}' };
    assert.deepEqual(instance.datasource, expected);
    for (const { title, datasource, fieldConfig, targets } of panelsOf(dashboard)) {
      assert.deepEqual(datasource, expected, title);
      assert.ok(fieldConfig.defaults.unit, title);
      assert.deepEqual(
        targets.map(({ refId }) => refId),
        ['A', 'B', 'C', 'D', 'E'].slice(0, targets.length),
        title,
      );
      for (const { expr } of targets) {
        for (const [variable] of expr.matchAll(/\$\w+/g)) {
          assert.ok(['$instance', '$__rate_interval'].includes(variable), expr);
        }
      }
    }
  });
});

describe('the kustomization', () => {
  const component = readObject('kustomization.yaml');

  it('names every file of the folder', () => {
    const files = readdirSync(folder).filter((file) => !['kustomization.yaml', 'README.md'].includes(file));
    assert.deepEqual(component.resources, files.sort());
  });

  it('adds three objects to the example, and Grafana finds the dashboard', { skip }, (t) => {
    // Copies the files, because Bazel's runfiles are links, and kustomize follows no link out of the folder.
    const copy = join(scratch(t), 'kubernetes');
    cpSync(kubernetes, copy, { recursive: true, dereference: true });
    mkdirSync(join(copy, 'overlay'));
    const overlay = { kind: 'Kustomization', resources: ['../example'], components: ['../monitoring'] };
    writeFileSync(join(copy, 'overlay/kustomization.yaml'), JSON.stringify(overlay));
    const [before, now] = ['example', 'overlay'].map((name) => parse(render(join(copy, name))));
    const id = ({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`;
    const added = now.filter((object) => !before.some((other) => id(other) === id(object)));
    assert.equal(now.length, before.length + added.length);
    assert.deepEqual(added.map(id).sort(), [
      'ConfigMap stampgate/stampgate-dashboard',
      'PodMonitor stampgate/stampgate',
      'PrometheusRule stampgate/stampgate',
    ]);
    const map = find(added, 'ConfigMap', 'stampgate-dashboard');
    assert.equal(map.metadata.labels.grafana_dashboard, '1');
    assert.deepEqual(map.data, { 'stampgate.json': dashboardText });
    assert.deepEqual(find(added, 'PrometheusRule').spec, readRules());
  });
});
