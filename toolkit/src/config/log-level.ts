import { z } from "zod"

/** The setting that every process of ours has. */
export const logLevel = {
  env: "LOG_LEVEL",
  describe: "debug, info, warn, error or silent.",
  schema: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(["debug", "info", "warn", "error", "silent"]))
    .default("info"),
} as const
