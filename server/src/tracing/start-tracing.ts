/** Starts tracing if the environment names a collector; see `tracing.ts`. */
import type { TracingOptions } from "./open-telemetry.js"
import type { Tracing } from "./tracing.js"

/**
 * @param env  the server's environment. The SDK reads the rest of OTEL_* itself, from the environment of the process; the address of a
 *             collector may be in the settings file only, since it may contain credentials
 * @returns    undefined when no collector is named
 */
export async function startTracing(
  env: NodeJS.ProcessEnv,
  own: Pick<TracingOptions, "version" | "hasContent">,
): Promise<Tracing | undefined> {
  const url = tracesUrl(env)
  if (url === undefined || env.OTEL_SDK_DISABLED === "true") return undefined
  const { createTracing } = await import("./open-telemetry.js")
  return createTracing({ ...own, url, serviceName: env.OTEL_SERVICE_NAME ?? "superstep-agent-server" })
}

/** OpenTelemetry's two variables for a collector: the address for traces, and one for all signals, below which traces have a path. Pure. */
export function tracesUrl(env: NodeJS.ProcessEnv): string | undefined {
  const [own, base] = [env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, env.OTEL_EXPORTER_OTLP_ENDPOINT]
  if (own) return own
  return base ? `${base.replace(/\/$/, "")}/v1/traces` : undefined
}
