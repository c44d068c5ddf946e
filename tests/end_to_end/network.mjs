// A network of hosts, each in a network namespace, that a router connects. The router can discard packets: their sender
// then learns nothing, unlike when a relay holds bytes or closes a connection.
//
// A process that uses this file is a host itself, and must run in a network namespace of its own: see inNetwork().
import { spawn, spawnSync } from 'node:child_process';
import { Namespace } from './namespace.mjs';

/** A host's address and the address of its router. They exist only in the namespaces. */
const addressesOf = (number) => [`10.213.${number}.2`, `10.213.${number}.1`];

const FORWARD = 'echo 1 > /proc/sys/net/ipv4/ip_forward';
/** What a machine must be able to do in a namespace. */
const NEEDS = `ip link set lo up && ip link add one type veth peer name two && ${FORWARD} &&
ip rule add from ${addressesOf(1)[0]} to ${addressesOf(2)[0]} blackhole`;

const UNSHARE = ['--map-root-user', '--net', '--'];
const INSIDE = 'STAMPGATE_TEST_IS_IN_A_NETWORK';

/** Whether this process runs in a network namespace of its own. */
export const isInNetwork = process.env[INSIDE] === '1';

/** The reason why this machine cannot make such a network, or false. */
export function reasonToSkip() {
  const { status, error, stderr } = spawnSync('unshare', [...UNSHARE, 'sh', '-c', NEEDS], { encoding: 'utf8' });
  return status === 0 ? false : `no network can be made in a namespace: ${error ?? stderr.trim()}`;
}

/** Runs a file of tests in a network namespace of its own. Resolves to its exit status and its output. */
export async function runInNetwork(t, file) {
  const words = ['--pdeathsig', 'KILL', '--', process.execPath, '--test-reporter=tap', file];
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, [INSIDE]: '1' };
  delete env.NODE_TEST_CONTEXT; // which would change the form of the output
  const child = spawn('unshare', [...UNSHARE, 'setpriv', ...words], { stdio: ['ignore', 'pipe', 'pipe'], env });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const status = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  return { status, output };
}

export class Network {
  /** @type {Namespace} */
  router;
  /** The address of this process. @type {string} */
  address;
  #hosts = 0;

  /** Creates a network with one host, which is this process. It ends with the test `t`. */
  static async create(t) {
    const network = new Network();
    network.router = await Namespace.create(t, ['net'], FORWARD);
    network.address = network.#connect(process.pid);
    return network;
  }

  /** Adds a host. Resolves to its namespace and address. */
  async addHost(t) {
    const namespace = await Namespace.create(t, ['net']);
    return { namespace, address: this.#connect(namespace.pid) };
  }

  /** From now on, the router discards all packets from one address to the other; undefined means every address. */
  cut(from, to) {
    this.router.run(`ip rule add ${from ? `from ${from}` : ''} ${to ? `to ${to}` : ''} priority 1 blackhole`);
  }

  /** The router forwards all packets again. */
  heal() {
    this.router.run('while ip rule del priority 1; do :; done 2> /dev/null');
  }

  /** Connects the network namespace of a process to the router. Returns its address. */
  #connect(pid) {
    this.#hosts += 1;
    const [host, router] = addressesOf(this.#hosts);
    const device = `host${this.#hosts}`;
    this.router.run(
      `set -e
ip link add ${device} type veth peer name uplink netns ${pid}
ip addr add ${router}/24 dev ${device}
ip link set ${device} up`,
    );
    const script = `set -e
ip link set lo up
ip addr add ${host}/24 dev uplink
ip link set uplink up
ip route add default via ${router}`;
    const { status, stderr } = spawnSync('nsenter', ['--target', `${pid}`, '--net', '--', 'sh', '-c', script], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`the network of ${pid} was not made: ${stderr}`);
    return host;
  }
}
