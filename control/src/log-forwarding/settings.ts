/** The settings of the operator's sink; `config.ts` reads them. */
import { Secret, type Settings } from "@superstep/toolkit/config/settings"
import { signingSecretPattern } from "@superstep/toolkit/webhooks/signature"
import { z } from "zod"
import { headersProblem, sinkFormats } from "./sink.js"

export const logForwardSettings = {
  logForwardUrl: {
    env: "SUPERSTEP_LOG_FORWARD_URL",
    describe:
      "Address that gets the log lines of all deployments; with `otlp` and no path, `/v1/logs` is added. The rules for addresses of webhooks apply.",
    schema: z.url({ protocol: /^https?$/, message: "expected an http or https address" }).optional(),
  },
  logForwardFormat: {
    env: "SUPERSTEP_LOG_FORWARD_FORMAT",
    describe: "`otlp`: OTLP/HTTP with JSON, as OpenTelemetry collectors take it; `json`: a JSON array of lines.",
    schema: z.enum(sinkFormats).default("otlp"),
  },
  logForwardHeaders: {
    env: "SUPERSTEP_LOG_FORWARD_HEADERS",
    describe: "Headers of these requests, as `name=value` by comma; values may be percent-encoded.",
    schema: z
      .string()
      .superRefine((text, context) => {
        const message = headersProblem(text)
        if (message !== undefined) context.addIssue({ code: "custom", message })
      })
      .transform((text) => new Secret(text))
      .optional(),
  },
  logForwardSecret: {
    env: "SUPERSTEP_LOG_FORWARD_SECRET",
    describe: "Secret (`whsec_…`) that signs these requests as webhooks are signed.",
    schema: z
      .string()
      .regex(signingSecretPattern, "expected whsec_ and a key in base64")
      .transform((text) => new Secret(text))
      .optional(),
  },
} satisfies Settings
