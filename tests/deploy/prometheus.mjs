// Starts Debian's Prometheus for a test, and queries it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask } from '../end_to_end/admin_port.mjs';
import { HANG_MS, scratch } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { prometheusPrograms } from '../paths.mjs';

export class Prometheus {
  /** How many gateways it scrapes. @type {number} */
  gateways;
  /** What it has logged. @type {string} */
  output;
  /** @type {string | undefined} */
  url;

  /**
   * Starts a server that scrapes gateways and evaluates rules, both once a second. It ends with the test `t`.
   * @param {object} t
   * @param {{gateways: {adminUrl: string}[], ruleFile: string}} options
   */
  static async start(t, { gateways, ruleFile }) {
    const folder = scratch(t);
    const config = join(folder, 'prometheus.yml');
    const targets = gateways.map(({ adminUrl }) => new URL(adminUrl).host);
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
        rule_files: [ruleFile],
        // The page of the alerts asks for this name of the job.
        scrape_configs: [{ job_name: 'stampgate', static_configs: [{ targets }] }],
      }),
    );
    const prometheus = new Prometheus();
    prometheus.gateways = gateways.length;
    prometheus.output = '';
    const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`];
    const child = spawn(join(prometheusPrograms, 'prometheus'), [...args, '--web.listen-address=127.0.0.1:0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let isOver = false;
    const ended = new Promise((resolve) => child.on('close', resolve)).then(() => (isOver = true));
    child.on('error', (error) => (prometheus.output += `run deploy/install --tests, because of this error: ${error}`));
    child.stderr.on('data', (data) => (prometheus.output += data));
    t.after(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    await until(async () => {
      assert.ok(!isOver, prometheus.output);
      const [, address] = /msg="Listening on".* address=(\S+)/.exec(prometheus.output) ?? [];
      prometheus.url = address && `http://${address}`;
      return address !== undefined && (await ask(prometheus.url, '/-/ready'))?.status === 200;
    }, 'Prometheus is ready');
    return prometheus;
  }

  /** Resolves to `data` of a response of the HTTP API. Rejects with Prometheus's error. */
  async get(path, parameters = {}) {
    const response = await ask(this.url, `/api/v1/${path}?${new URLSearchParams(parameters)}`, HANG_MS);
    const { status, data, error } = JSON.parse(response.body);
    if (status !== 'success') throw new Error(error);
    return data;
  }

  /** Evaluates an expression now. Resolves to the series, each with its labels and its value. */
  async query(query) {
    const { resultType, result } = await this.get('query', { query });
    assert.equal(resultType, 'vector', query);
    return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  /** Resolves when Prometheus has scraped all gateways after this moment, and then evaluated all rules. */
  async scrapeAndEvaluate() {
    const now = Date.now();
    const isScraped = async () => {
      const times = await this.query('timestamp(up{job="stampgate"}) and up{job="stampgate"} == 1');
      return times.length === this.gateways && times.every(({ value }) => value * 1000 > now);
    };
    await until(isScraped, 'all gateways are scraped');
    const scraped = Date.now();
    const isEvaluated = async () =>
      (await this.get('rules')).groups.every(({ lastEvaluation }) => Date.parse(lastEvaluation) > scraped);
    await until(isEvaluated, 'all rules are evaluated');
  }

  /** The state of each rule, as Prometheus's API describes it. */
  async rules() {
    return (await this.get('rules')).groups.flatMap(({ rules }) => rules);
  }
}
