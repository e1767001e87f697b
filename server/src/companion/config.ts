/** Settings of the companion. The machine sets them (protocol/unit), so they are not in the settings reference. */
import { isAbsolute } from "node:path"
import { logLevel } from "@superstep/toolkit/config/log-level"
import { readSettings, Secret, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { takeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { z } from "zod"

export const settings = {
  socketPath: {
    env: "SUPERSTEP_LISTEN",
    describe: "Unix socket to create and to listen on, as unix:/path.",
    schema: z
      .string()
      .transform((text) => text.replace(/^unix:/, ""))
      .refine(isAbsolute, "expected unix:/path"),
  },
  revisionId: {
    env: "SUPERSTEP_REVISION_ID",
    describe: "Revision of the unit.",
    schema: z.string(),
  },
  unitToken: {
    env: "SUPERSTEP_UNIT_TOKEN",
    describe: "Credential that every request must send as X-Superstep-Unit.",
    schema: z.string().transform((text) => new Secret(text)),
  },
  port: {
    env: "PORT",
    describe: "Where the guest listens, on the loopback address.",
    schema: z
      .string()
      .regex(/^\d{1,5}$/, "expected a port")
      .transform(Number),
  },
  logLevel,
} satisfies Settings

export type CompanionConfig = Values<typeof settings>

/** @throws InvalidSettings */
export const readCompanionConfig = (): CompanionConfig => readSettings(settings, takeSettingsFile(process.env))
