import { z } from "zod"

/** The setting that all our processes share. */
export const logLevel = {
  env: "LOG_LEVEL",
  describe: "debug, info, warn, error or silent.",
  schema: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(["debug", "info", "warn", "error", "silent"]))
    .default("info"),
} as const
