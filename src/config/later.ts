import { place, url } from "./addresses.ts";
import { byKind, list, map } from "./collections.ts";
import { optional, refine, type Shape } from "./shape.ts";
import { duration, size } from "./units.ts";
import { choice, number, text } from "./values.ts";

// Keys that are reserved for later versions. Their shapes are for the JSON Schema only; using one of these keys is a
// mistake.

const FILE = text({ what: "the path of a file" });
const any = <T>(shape: Shape<T>): Shape<unknown> => refine(shape, (value: unknown) => value);

/** A byte-exact recording. */
export const RECORD = byKind(
  {
    text: any(FILE),
    map: any(
      map({ file: optional(FILE, "Where to.", null), max_size: optional(size(), "When to begin a new one.", null) }),
    ),
  },
  "a file",
);

/** A second set of rules, for a part of the sessions or only for comparison. */
export const EXPERIMENTS = list(
  map({
    id: optional(text(), "Its name.", null),
    mode: optional(
      choice(["split", "shadow"]),
      "Whether sessions are divided, or the second set only judges.",
      "shadow" as const,
    ),
    share: optional(number({ min: 0, max: 1 }), "The share of sessions that get the second set.", null),
    config: optional(FILE, "The policy file of the second set.", null),
  }),
);

/** Anomaly scores against a learnt baseline. */
export const ANOMALY = map({
  baseline: optional(FILE, "What was learnt.", null),
  threshold: optional(number({ min: 0, max: 1 }), "From which score on a call is odd.", null),
});

/** The dashboard, which has its own port. */
export const DASHBOARD = byKind(
  {
    text: any(place()),
    number: any(place()),
    map: any(
      map({ listen: optional(place(), "Where it is.", null), token: optional(text(), "Who may see it.", null) }),
    ),
  },
  "a port or host:port",
);

/** Metrics for Prometheus. */
export const METRICS = map({
  listen: optional(place(), "Where they are.", null),
  path: optional(text(), "Under which path.", "/metrics"),
});

/** Traces for OpenTelemetry. */
export const TRACING = map({
  endpoint: optional(url(), "Where to send them (OTLP).", null),
  service_name: optional(text(), "The service name in traces.", "fairlead"),
  sample: optional(number({ min: 0, max: 1 }), "The share of conversations that are traced.", 1),
  interval: optional(duration(), "How often they are sent.", 5000),
});
