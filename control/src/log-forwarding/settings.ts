/** The settings of the operator's sink; `config.ts` reads them. */
import type { Settings } from "@superstep/toolkit/config/settings"
import { httpUrl, secret, without } from "@superstep/toolkit/config/texts"
import { signingSecretPattern } from "@superstep/toolkit/webhooks/signature"
import { z } from "zod"
import { headersProblem, sinkFormats } from "./sink.js"

export const logForwardSettings = {
  logForwardUrl: {
    env: "SUPERSTEP_LOG_FORWARD_URL",
    describe:
      "Address that gets the log lines of all deployments; with `otlp` and no path, `/v1/logs` is added. The rules for addresses of webhooks apply.",
    schema: httpUrl.optional(),
  },
  logForwardFormat: {
    env: "SUPERSTEP_LOG_FORWARD_FORMAT",
    describe: "`otlp`: OTLP/HTTP with JSON, as OpenTelemetry collectors take it; `json`: a JSON array of lines.",
    schema: z.enum(sinkFormats).default("otlp"),
  },
  logForwardHeaders: {
    env: "SUPERSTEP_LOG_FORWARD_HEADERS",
    describe: "Headers of these requests, as `name=value` by comma; values may be percent-encoded.",
    schema: secret(without(headersProblem)).optional(),
  },
  logForwardSecret: {
    env: "SUPERSTEP_LOG_FORWARD_SECRET",
    describe: "Secret (`whsec_…`) that signs these requests as webhooks are signed.",
    schema: secret(z.string().regex(signingSecretPattern, "expected whsec_ and a key in base64")).optional(),
  },
} satisfies Settings
