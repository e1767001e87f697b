/** Starts tracing if the environment names a collector; see `tracing.ts`. */
import type { Tracing } from "./tracing.js"

/** OpenTelemetry's variables for the URL of a collector. */
const endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const

/**
 * @param env  the server's environment; the SDK reads the rest of OTEL_* itself
 * @returns undefined when no collector is named
 */
export async function startTracing(env: NodeJS.ProcessEnv, version: string): Promise<Tracing | undefined> {
  if (!endpoints.some((name) => env[name]) || env.OTEL_SDK_DISABLED === "true") return undefined
  const { createTracing } = await import("./open-telemetry.js")
  return createTracing({ version, serviceName: env.OTEL_SERVICE_NAME ?? "superstep-agent-server" })
}
