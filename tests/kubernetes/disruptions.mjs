// Disruptions under load, and their table.
import assert from 'node:assert/strict';
import { Ending } from '../conformance/stacks.mjs';
import { Load } from './load.mjs';
import { tableOf } from './report.mjs';

export class Disruptions {
  /** @type {Load} */
  #load;
  // The load ends before upstream does.
  #loading = new Ending();
  /** @type {Map<string, import('./report.mjs').Report & {seconds: number}>} */
  #reports = new Map();

  /**
   * Starts the load.
   * @param {import('./installation.mjs').Installation} installation
   * @param {{target?: string, sidecar?: any}} [options] of the load
   */
  static async start(installation, options) {
    const started = new Disruptions();
    started.#load = await Load.start(started.#loading, () => installation.simulator.service.state, options);
    return started;
  }

  /** Disrupts the gateways, and records the outcomes of the calls. Fails if a submit is lost or doubled. */
  async disrupt(t, name, disruption) {
    const report = await this.#load.during(disruption);
    this.#reports.set(name, report);
    for (const error of report.errors) t.diagnostic(error);
    const { lost, doubled, unexpected } = report;
    assert.deepEqual({ lost, doubled, unexpected }, { lost: 0, doubled: 0, unexpected: 0 });
    return report;
  }

  /** Prints the table, and ends the load. */
  async end() {
    console.log(`\n${tableOf(this.#reports)}\n`);
    await this.#loading.end();
  }
}
