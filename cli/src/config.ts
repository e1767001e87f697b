/** Settings of the command line, read from the environment; options of a command go before them. */
import { resolve } from "node:path"
import { readSettings, Secret, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { z } from "zod"

// The control plane runs in the data folder: what is named from here is told to it in full.
const file = z
  .string()
  .transform((path) => resolve(path))
  .optional()

export const settings = {
  home: {
    env: "SUPERSTEP_HOME",
    describe: "Data folder: the embedded Postgres, credentials, logs, git repositories.",
    schema: z.string().default(".superstep"),
  },
  databaseUri: {
    env: "DATABASE_URI",
    describe: "Postgres server to use in place of the embedded one; its role must be able to create databases.",
    schema: z
      .string()
      .optional()
      .transform((text) => (text === undefined ? undefined : new Secret(text))),
  },
  stopAllOnExit: {
    env: "SUPERSTEP_STOP_ALL_ON_EXIT",
    describe:
      "0: SIGTERM ends `superstep up` and its control plane alone; agents, builds, the edge and the embedded Postgres go on for the next start. For service managers; Ctrl-C stops everything all the same.",
    schema: z
      .enum(["0", "1"])
      .default("1")
      .transform((flag) => flag === "1"),
    defaultText: "`1`",
  },
  publicUrl: {
    env: "SUPERSTEP_PUBLIC_URL",
    describe: "Where the API is reached, when a proxy is in front.",
    schema: z.string().optional(),
  },
  tlsCert: {
    env: "SUPERSTEP_TLS_CERT",
    describe: "PEM file of the certificate with which the API and agents answer HTTPS.",
    schema: file,
  },
  tlsKey: { env: "SUPERSTEP_TLS_KEY", describe: "PEM file of that certificate's key.", schema: file },
  url: {
    env: "SUPERSTEP_URL",
    describe: "Control plane that `deploy`, `logs` and the like speak to; that of the data folder unless set.",
    schema: z.string().optional(),
  },
  apiKey: {
    env: "SUPERSTEP_API_KEY",
    describe: "Key to speak to it with; the data folder's own unless set.",
    schema: z
      .string()
      .optional()
      .transform((text) => (text === undefined || text === "" ? undefined : new Secret(text))),
  },
  workspace: {
    env: "SUPERSTEP_WORKSPACE",
    describe: "Workspace to work in, for a key that belongs to several.",
    schema: z.string().optional(),
  },
  agentsUrl: {
    env: "SUPERSTEP_AGENTS_URL",
    describe: "Where agents are reached, when a proxy is in front.",
    schema: z.string().optional(),
  },
} satisfies Settings

/** The settings, and the environment as a whole for the processes that are started with it. */
export interface Config extends Values<typeof settings> {
  readonly environment: Readonly<Record<string, string>>
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const present = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { ...readSettings(settings, env), environment: Object.fromEntries(present) }
}
