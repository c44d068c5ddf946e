// A round of attacks on a gateway of its own: honest parties alone, then the attackers beside them. Upstream, the honest
// parties and the attackers are processes of their own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { call } from '../../clients/gateway.mjs';
import { binary } from '../../paths.mjs';
import { ADMIN } from '../admin_port.mjs';
import { Gateway, auditConfig, eventsConfig, plainConfig, scratch } from '../harness.mjs';
import { LONG, residentBytes } from '../processes.mjs';
import { ControlGroup } from './control_group.mjs';
import { organizationWith } from './organizations.mjs';
import { ATTACKERS, HONEST, callersOf, channel, makeTls } from './parties.mjs';

/** The time without attackers. */
const QUIET_MS = LONG ? 5000 : 1500;
/** An attack lasts for this time at least, and for the second time at most if not everything has begun earlier. */
const LEAST_MS = LONG ? 10_000 : 4000;
const MOST_MS = LONG ? 20_000 : 8000;
/** What the gateway holds when everything has begun stays for this time. */
const MORE_MS = 1000;

const ALL = ['query', 'login', 'write', 'dangerous', 'events'];
const CALLERS = [
  ...callersOf(HONEST, { classes: ['query', 'write'] }),
  ...callersOf(ATTACKERS, { classes: ALL, general_operations: [{ path: 'whoami' }] }),
];
/** @type {[string, object]} */
const QUERY = ['PolicyService/GetPolicy', { organization_id: organizationWith(), policy_id: 'policy' }];

/** A process of this folder. `failed` rejects when it has ended. */
class Helper {
  /** @type {import('node:child_process').ChildProcess} */
  child;
  /** @type {string} */
  output;
  /** Resolves to the exit status. @type {Promise<number[]>} */
  ended;
  /** @type {Promise<never>} */
  failed;
  /** @type {any} */
  first;

  /** Starts a process. Resolves when it has sent its first message, `first`. */
  static async start(t, name) {
    const helper = new Helper();
    helper.child = fork(new URL(name, import.meta.url), { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    helper.output = '';
    helper.child.stderr.on('data', (data) => (helper.output += data));
    helper.ended = once(helper.child, 'close');
    helper.failed = helper.ended.then(([status]) => {
      throw new Error(`${name} exited with ${status}: ${helper.output}`);
    });
    helper.failed.catch(() => {});
    t.after(() => helper.end());
    helper.first = await helper.#message();
    return helper;
  }

  end() {
    this.child.kill('SIGKILL');
    return this.ended;
  }

  send(message) {
    this.child.send(message);
  }

  /** Sends a message. Resolves to the response. */
  ask(message) {
    const answer = this.#message();
    this.send(message);
    return answer;
  }

  #message() {
    return Promise.race([once(this.child, 'message').then(([message]) => message), this.failed]);
  }
}

/** The most resident memory that a process has had, in bytes; 0 if it has ended. */
function mostResidentBytes(pid) {
  try {
    const [, kibibytes = 0] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return 1024 * Number(kibibytes);
  } catch {
    return 0;
  }
}

/** A command that starts the gateway in the group. */
function commandIn(group, folder) {
  const command = join(folder, 'stampgate-in-group');
  writeFileSync(command, `#!/bin/sh\n${group.join} && exec '${binary('gateway/stampgate')}' "$@"\n`, { mode: 0o755 });
  return command;
}

/** What the rounds of a file have in common: upstream, and the certificates of all parties. */
export class Stage {
  /** @type {string} */
  folder;
  /** @type {{url: string}} */
  upstream;
  /** The config's section `tls`. @type {object} */
  section;
  /** The TLS options of each party. @type {Record<string, object>} */
  tlsOf;

  /** Prepares a stage, which ends with the test `t`. */
  static async prepare(t) {
    const stage = new Stage();
    stage.folder = scratch(t);
    stage.upstream = (await Helper.start(t, 'upstream.mjs')).first;
    Object.assign(stage, makeTls(stage.folder, [...HONEST, ...ATTACKERS]));
    return stage;
  }
}

/**
 * Starts a gateway with the defaults of all limits, except for those in `config`, and in a control group if `limitBytes`
 * is given. `ending()` returns how the process ended, if it did.
 */
async function startGateway(t, stage, { limitBytes, config }) {
  let gateway;
  const group = limitBytes && ControlGroup.create(limitBytes);
  t.after(async () => {
    await gateway?.stop('SIGKILL');
    await group?.remove();
  });
  const folder = scratch(t);
  const whole = {
    ...plainConfig(stage.upstream, folder),
    ...eventsConfig(folder),
    ...{ tls: stage.section, admin: ADMIN, audit: await auditConfig(folder), callers: CALLERS, reflection: true },
    class_grants_as_of: '2026-09-22',
  };
  for (const [name, section] of Object.entries(config)) whole[name] = { ...whole[name], ...section };
  gateway = await Gateway.start(whole, { folder, ...(group && { command: commandIn(group, folder) }) });
  let ended;
  gateway.exited.then((how) => (ended = how));
  return { gateway, group, ending: () => ended };
}

async function isAnswered(address, tls) {
  const client = channel(address, tls);
  try {
    await call(client, ...QUERY);
    return true;
  } catch {
    return false;
  } finally {
    client.close();
  }
}

/**
 * Runs a round, whose processes end with the test `t`.
 * @param {object} t
 * @param {Stage} stage
 * @param {import('./mix.mjs').Part[]} parts the attacks
 * @param {object} [options]
 * @param {number} [options.limitBytes] of the memory control group in which the gateway runs; without it, in none
 * @param {object} [options.config] merged over the sections of the gateway's config
 * @returns {Promise<import('./judge.mjs').Observation & {unbegun: string[], seconds: number, groupBytes: number |
 *     undefined}>} `unbegun` are the kinds that were still beginning at the end, and `groupBytes` is the most memory of
 *     the group
 */
export async function runRound(t, stage, parts, { limitBytes, config = {} } = {}) {
  const [{ gateway, group, ending }, honest, attackers] = await Promise.all([
    startGateway(t, stage, { limitBytes, config }),
    Helper.start(t, 'honest.mjs'),
    Helper.start(t, 'attackers.mjs'),
  ]);
  const { address, webhookUrl, adminUrl } = gateway;
  const { tlsOf } = stage;
  const place = { address, webhookUrl, adminUrl, tlsOf };
  const { pid } = gateway.child;

  await honest.ask(['begin', place]);
  gateway.child.kill('SIGHUP'); // The gateway returns free memory to the system.
  await honest.ask(['enter', 'quiet']);
  await pause(QUIET_MS);
  const restBytes = residentBytes(pid);
  let peakBytes = restBytes;
  const look = () => (peakBytes = Math.max(peakBytes, mostResidentBytes(pid)));

  await honest.ask(['enter', 'attack']);
  const begin = performance.now();
  const begun = new Set();
  attackers.child.on('message', (/** @type {{begun: number}} */ message) => begun.add(message.begun));
  attackers.send({ place, parts });
  const isOver = () => {
    const ms = performance.now() - begin;
    return ending() !== undefined || ms > MOST_MS || (begun.size === parts.length && ms > LEAST_MS);
  };
  const watch = async () => {
    for (; !isOver(); await pause(20)) look();
    await pause(MORE_MS);
  };
  await Promise.race([watch(), attackers.failed, honest.failed]);
  look();
  const samples = await honest.ask(['end']);
  look();
  const seconds = (performance.now() - begin) / 1000;
  await attackers.end();
  const answered = await isAnswered(address, tlsOf[HONEST[0]]);
  // A gateway that has not answered may have just ended.
  if (!answered) await Promise.race([gateway.exited, pause(1000)]);
  return {
    ...{ ended: ending(), isAnswered: answered, restBytes, peakBytes, honest: samples, seconds },
    groupBytes: group?.mostBytes,
    unbegun: parts.filter((_, number) => !begun.has(number)).map(({ kind }) => kind),
  };
}
