// Helpers for tests of the admin port: GETs its pages, and parses the metrics.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { HANG_MS } from './harness.mjs';

/** The section `admin` of a config. */
export const ADMIN = { listen_address: '127.0.0.1:0' };

/** GETs a page. Resolves to `null` if the gateway does not respond in time. */
export const ask = (url, path, timeout = HANG_MS) =>
  new Promise((resolve) => {
    const asked = get(url + path, { agent: false, timeout }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (data) => (body += data));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
      response.on('error', () => resolve(null));
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(null));
  });

export const statusOf = async (url, path) => (await ask(url, path))?.status;

/**
 * Parses Prometheus's text format 0.0.4, and checks rules that this format does not have: every family has one HELP and
 * one TYPE before its samples, its samples are adjacent, no series is repeated, and names follow the style of this
 * project.
 * @returns {Map<string, number>} the values by series, whose labels are sorted
 */
function parseMetrics(text) {
  assert.ok(text.endsWith('\n'));
  const series = new Map();
  const families = new Map();
  /** @type {{name: string, samples: number, type?: string} | undefined} */
  let family;
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP ([a-z_]+) (\S.*\.)$/.exec(line);
    if (help) {
      assert.ok(!families.has(help[1]), `${help[1]} comes twice`);
      family = { name: help[1], samples: 0 };
      families.set(family.name, family);
      continue;
    }
    const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line);
    if (type) {
      assert.equal(type[1], family.name);
      assert.equal(family.type, undefined);
      family.type = type[2];
      assert.equal(family.type === 'counter', family.name.endsWith('_total'), line);
      assert.match(family.name, /^(stampgate|process)_/);
      continue;
    }
    const sample = /^([a-z_]+)(?:\{([^}]*)\})? (-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?)$/.exec(line);
    assert.ok(sample, `no sample: ${line}`);
    const [, name, labels = '', value] = sample;
    const suffixes = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    assert.ok(
      suffixes.some((suffix) => name === family.name + suffix),
      line,
    );
    const parts = labels === '' ? [] : labels.split(/,(?=[a-z_]+=")/);
    for (const part of parts) assert.match(part, /^[a-z_]+="[^"\\\n]*"$/, line);
    const id = parts.length === 0 ? name : `${name}{${parts.sort().join(',')}}`;
    assert.ok(!series.has(id), `${id} comes twice`);
    series.set(id, Number(value));
    family.samples += 1;
  }
  for (const { name, type, samples } of families.values()) assert.ok(type && samples > 0, name);
  checkHistograms(families, series);
  return series;
}

/** Checks that the buckets of each histogram do not decrease, and that the last bucket equals the count. */
function checkHistograms(families, series) {
  for (const { name } of [...families.values()].filter(({ type }) => type === 'histogram')) {
    const buckets = new Map();
    for (const [id, value] of series) {
      const [, labels, le] = new RegExp(`^${name}_bucket\\{(.*),le="(.*)"\\}$`).exec(id) ?? [];
      if (labels) buckets.set(labels, [...(buckets.get(labels) ?? []), [le, value]]);
    }
    for (const [labels, values] of buckets) {
      const bound = ([le]) => (le === '+Inf' ? Infinity : Number(le));
      for (let i = 1; i < values.length; ++i) {
        assert.ok(bound(values[i]) > bound(values[i - 1]) && values[i][1] >= values[i - 1][1]);
      }
      assert.equal(values.at(-1)[0], '+Inf');
      assert.equal(values.at(-1)[1], series.get(`${name}_count{${labels}}`));
    }
  }
}

/** The metrics of a gateway: a map by series, with the page as its member `text`. */
export async function metricsOf(gateway) {
  const { status, headers, body } = await ask(gateway.adminUrl, '/metrics');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  return Object.assign(parseMetrics(body), { text: body });
}
