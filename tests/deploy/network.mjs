// Decides as a network plugin does which connections the NetworkPolicies of some manifests allow.
import assert from 'node:assert/strict';
import { BlockList } from 'node:net';

/**
 * A pod: its namespace, its labels, and the named ports of its containers.
 * @typedef {{namespace: string, labels: Object<string, string>, ports?: Object<string, number>}} Pod
 * An end of a connection: a pod, or an address outside of the cluster.
 * @typedef {Pod | string} Peer
 */

const OPERATORS = {
  In: (value, values) => values.includes(value),
  NotIn: (value, values) => !values.includes(value),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
};

/** Whether a label selector selects these labels. The empty selector selects all. */
function selects({ matchLabels = {}, matchExpressions = [], ...others }, labels) {
  assert.deepEqual(others, {}, 'an unknown part of a selector');
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => OPERATORS[operator](labels[key], values))
  );
}

function contains(cidr, address) {
  const [network, bits] = cidr.split('/');
  const family = (text) => (text.includes(':') ? 'ipv6' : 'ipv4');
  if (family(network) !== family(address)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family(network));
  return list.check(address, family(address));
}

/** Whether an entry of `from` or `to` in a policy of `namespace` names this peer. */
function names({ ipBlock, namespaceSelector, podSelector }, namespace, peer) {
  if (ipBlock) {
    return (
      typeof peer === 'string' &&
      contains(ipBlock.cidr, peer) &&
      !(ipBlock.except ?? []).some((range) => contains(range, peer))
    );
  }
  if (typeof peer === 'string') return false;
  // Kubernetes gives each namespace this label.
  const ofNamespace = { 'kubernetes.io/metadata.name': peer.namespace, ...peer.namespaceLabels };
  const inNamespace = namespaceSelector ? selects(namespaceSelector, ofNamespace) : peer.namespace === namespace;
  return inNamespace && selects(podSelector ?? {}, peer.labels);
}

/** Whether a rule without ports, or with these ports, allows a port of the pod `target`. */
const allowsPort = (ports, target, { protocol, port }) =>
  ports === undefined ||
  ports.some(
    (each) =>
      (each.protocol ?? 'TCP') === protocol &&
      (each.port === undefined || (target.ports?.[each.port] ?? each.port) === port),
  );

/** Whether the policies allow one direction of a connection at `pod`, whose other end is `peer`. */
function allowsAt(policies, direction, pod, peer, target, port) {
  const [rules, peers] = direction === 'Egress' ? ['egress', 'to'] : ['ingress', 'from'];
  const ofPod = policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.namespace &&
      spec.policyTypes.includes(direction) &&
      selects(spec.podSelector, pod.labels),
  );
  // A pod that no policy selects may connect to everything.
  return (
    ofPod.length === 0 ||
    ofPod.some(({ metadata, spec }) =>
      (spec[rules] ?? []).some(
        (rule) =>
          (rule[peers] === undefined || rule[peers].some((each) => names(each, metadata.namespace, peer))) &&
          allowsPort(rule.ports, target, port),
      ),
    )
  );
}

/**
 * Whether the NetworkPolicies among `objects` allow a connection.
 * @param {object[]} objects
 * @param {Peer} from
 * @param {Peer} to
 * @param {{protocol?: string, port: number}} at
 */
export function allows(objects, from, to, { protocol = 'TCP', port }) {
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  const target = typeof to === 'string' ? {} : to;
  const at = { protocol, port };
  return (
    (typeof from === 'string' || allowsAt(policies, 'Egress', from, to, target, at)) &&
    (typeof to === 'string' || allowsAt(policies, 'Ingress', to, from, target, at))
  );
}
