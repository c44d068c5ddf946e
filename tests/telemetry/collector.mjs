// A collector of OpenTelemetry, which receives a gateway's exports over gRPC.
import { load } from '../clients/packages.mjs';
import { proto } from './packages.mjs';

const grpc = load('@grpc/grpc-js');

const SIGNALS = {
  traces: {
    path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    request: proto.collector.trace.v1.ExportTraceServiceRequest,
    response: proto.collector.trace.v1.ExportTraceServiceResponse,
  },
  metrics: {
    path: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
    request: proto.collector.metrics.v1.ExportMetricsServiceRequest,
    response: proto.collector.metrics.v1.ExportMetricsServiceResponse,
  },
};

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const nanos = (long) => BigInt(long.toString());

function valueOf({ stringValue, intValue }) {
  return stringValue ?? Number(intValue.toString());
}

const attributesOf = (list) => Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]));

/** A span in a plain form: ids in hex, times in nanoseconds, attributes as an object. */
function plainSpan(span) {
  return {
    name: span.name,
    kind: span.kind,
    traceId: hex(span.traceId),
    id: hex(span.spanId),
    parent: hex(span.parentSpanId ?? []),
    start: nanos(span.startTimeUnixNano),
    end: nanos(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    failed: span.status?.code === 2,
    flags: span.flags,
  };
}

export class Collector {
  /** What each export contained: `{signal, bytes, message, metadata}`. */
  exports = [];
  /**
   * How the collector responds; OK by default.
   * @type {(signal: string) => {code?: number, rejectedSpans?: number, hang?: boolean}}
   */
  respond = () => ({});
  /** @type {string} */
  url;
  #waiting = [];

  constructor(credentials) {
    this.server = new grpc.Server();
    for (const [signal, { path, request, response }] of Object.entries(SIGNALS)) {
      const method = {
        path,
        requestStream: false,
        responseStream: false,
        requestDeserialize: (bytes) => ({ bytes, message: request.decode(bytes) }),
        requestSerialize: () => Buffer.alloc(0),
        responseSerialize: (message) => Buffer.from(response.encode(message).finish()),
        responseDeserialize: () => null,
      };
      this.server.addService({ Export: method }, { Export: (call, done) => this.#receive(signal, call, done) });
    }
    this.credentials = credentials ?? grpc.ServerCredentials.createInsecure();
  }

  async listen(port = 0) {
    this.port = await new Promise((resolve, reject) => {
      this.server.bindAsync(`127.0.0.1:${port}`, this.credentials, (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
  }

  close() {
    this.server.forceShutdown();
  }

  #receive(signal, call, done) {
    const { code, hang, rejectedSpans } = this.respond(signal);
    const accepted = !code && !hang;
    this.exports.push({ signal, ...call.request, metadata: call.metadata.getMap(), accepted });
    if (code) done({ code, details: 'canary of the collector' });
    else if (!hang) done(null, rejectedSpans ? { partialSuccess: { rejectedSpans } } : {});
    for (const check of this.#waiting.splice(0)) check();
  }

  /** Waits until `find()` returns something, and resolves to it. Looks after each export. */
  async until(find) {
    for (;;) {
      const found = find();
      if (found) return found;
      await new Promise((resolve) => this.#waiting.push(resolve));
    }
  }

  #of(signal) {
    return this.exports.filter((each) => each.signal === signal && each.accepted).map(({ message }) => message);
  }

  /** All spans that the collector has accepted, with the attributes of their resource. */
  spans() {
    return this.#of('traces').flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ resource, scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) =>
          spans.map((span) => ({ ...plainSpan(span), resource: attributesOf(resource.attributes) })),
        ),
      ),
    );
  }

  /** Waits for the server span of a trace, and resolves to all spans of the trace: the gateway exports them together. */
  async trace(traceId) {
    await this.until(() => this.spans().some((span) => span.traceId === traceId));
    return this.spans().filter((span) => span.traceId === traceId);
  }

  /** The metrics of the newest export; the elements are those of OTLP's message. */
  metrics() {
    return this.#of('metrics')
      .at(-1)
      ?.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  }
}

/**
 * Starts a collector, which ends with the test `t`.
 * @param {object} t a test context, or `{after}` of a file
 * @param {{tls?: {cert: Buffer, key: Buffer}}} [options]
 */
export async function startCollector(t, { tls } = {}) {
  const collector = new Collector(
    tls && grpc.ServerCredentials.createSsl(null, [{ cert_chain: tls.cert, private_key: tls.key }]),
  );
  await collector.listen();
  collector.url = `${tls ? 'https' : 'http'}://127.0.0.1:${collector.port}`;
  t.after(() => collector.close());
  return collector;
}

/**
 * The series of exported metrics in the form of the page /metrics: a map by name with sorted labels, in which a
 * histogram has the series _bucket, _sum and _count.
 */
export function seriesOf(metrics) {
  const series = new Map();
  const put = (name, attributes, value) => {
    const labels = Object.entries(attributes).map(([key, text]) => `${key}="${text}"`);
    series.set(labels.length === 0 ? name : `${name}{${labels.sort().join(',')}}`, value);
  };
  for (const { name, sum, gauge, histogram } of metrics) {
    for (const point of (sum ?? gauge)?.dataPoints ?? []) put(name, attributesOf(point.attributes), point.asDouble);
    for (const point of histogram?.dataPoints ?? []) {
      const labels = attributesOf(point.attributes);
      let count = 0;
      point.bucketCounts.forEach((values, i) => {
        count += Number(values.toString());
        put(`${name}_bucket`, { ...labels, le: String(point.explicitBounds[i] ?? '+Inf') }, count);
      });
      put(`${name}_count`, labels, Number(point.count?.toString() ?? 0));
      put(`${name}_sum`, labels, point.sum);
    }
  }
  return series;
}
