// The "restricted" profile of Kubernetes's Pod Security Standards, which includes the rules of "baseline", as of 1.34.
// Written from the published standard. Each rule is a function that takes a pod spec and returns the places that break
// the rule.

/** Every container of all three kinds, with its place in the pod. */
function containersOf(pod) {
  return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) =>
    (pod[list] ?? []).map((container, i) => ({ container, place: `${list}[${i}]` })),
  );
}

/** The pod's and every container's security context, with its place. */
const contextsOf = (pod) => [
  { context: pod.securityContext ?? {}, place: 'securityContext' },
  ...containersOf(pod).map(({ container, place }) => ({
    context: container.securityContext ?? {},
    place: `${place}.securityContext`,
  })),
];

const eachContainer = (check) => (pod) =>
  containersOf(pod)
    .filter(({ container }) => !check(container, pod))
    .map(({ place }) => place);
const eachContext = (check) => (pod) =>
  contextsOf(pod)
    .filter(({ context }) => !check(context))
    .map(({ place }) => place);

/** Returns the value that applies to a container: the container's own value, or else that of the pod. */
const effective = (container, pod, name) => container.securityContext?.[name] ?? pod.securityContext?.[name];

const HOOKS = ['livenessProbe', 'readinessProbe', 'startupProbe'];
const handlersOf = (container) =>
  [...HOOKS.map((name) => container[name]), container.lifecycle?.postStart, container.lifecycle?.preStop].filter(
    Boolean,
  );

const VOLUME_TYPES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
];
const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];
const SECCOMP_TYPES = ['RuntimeDefault', 'Localhost'];

export const RESTRICTED = {
  hostProcess: eachContext((context) => !context.windowsOptions?.hostProcess),
  hostNamespaces: (pod) => ['hostNetwork', 'hostPID', 'hostIPC'].filter((name) => pod[name]),
  privileged: eachContainer((container) => !container.securityContext?.privileged),
  hostPorts: eachContainer((container) => !(container.ports ?? []).some((port) => port.hostPort)),
  probeHosts: eachContainer(
    (container) => !handlersOf(container).some((handler) => handler.httpGet?.host || handler.tcpSocket?.host),
  ),
  appArmor: eachContext((context) => (context.appArmorProfile?.type ?? 'RuntimeDefault') !== 'Unconfined'),
  seLinux: eachContext(
    ({ seLinuxOptions: options }) => SELINUX_TYPES.includes(options?.type ?? '') && !options?.user && !options?.role,
  ),
  procMount: eachContainer((container) => (container.securityContext?.procMount ?? 'Default') === 'Default'),
  sysctls: (pod) =>
    (pod.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !SYSCTLS.includes(name)),
  volumeTypes: (pod) =>
    (pod.volumes ?? [])
      .filter((volume) => !Object.keys(volume).every((key) => key === 'name' || VOLUME_TYPES.includes(key)))
      .map(({ name }) => name),
  privilegeEscalation: eachContainer((container) => container.securityContext?.allowPrivilegeEscalation === false),
  runAsNonRoot: (pod) => [
    ...eachContainer((container) => effective(container, pod, 'runAsNonRoot') === true)(pod),
    ...eachContext((context) => context.runAsNonRoot !== false)(pod),
  ],
  runAsUser: eachContext((context) => context.runAsUser !== 0),
  seccomp: (pod) => [
    ...eachContainer((container) => SECCOMP_TYPES.includes(effective(container, pod, 'seccompProfile')?.type))(pod),
    ...eachContext((context) => !context.seccompProfile || SECCOMP_TYPES.includes(context.seccompProfile.type))(pod),
  ],
  capabilities: eachContainer(
    ({ securityContext: { capabilities: { drop = [], add = [] } = {} } = {} }) =>
      drop.includes('ALL') && add.every((name) => name === 'NET_BIND_SERVICE'),
  ),
};

/** The names of the rules that `pod` breaks, each with the places that break it. */
export const violations = (pod) =>
  Object.fromEntries(
    Object.entries(RESTRICTED)
      .map(([name, rule]) => [name, rule(pod)])
      .filter(([, places]) => places.length > 0),
  );
