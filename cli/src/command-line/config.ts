/** Settings of the command line, read from the environment; options of a command take precedence. */
import { scheduleProblem } from "@superstep/server/crons/schedule"
import { databaseAddress } from "@superstep/toolkit/config/database-address"
import { readSettings, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { file, flag, secret, wholeNumber, without } from "@superstep/toolkit/config/texts"
import { z } from "zod"

// The control plane runs in the data folder, so relative paths are resolved here.
const path = file.optional()

export const settings = {
  home: {
    env: "SUPERSTEP_HOME",
    describe: "Data folder: embedded Postgres, credentials, logs, git repositories.",
    schema: z.string().default(".superstep"),
  },
  databaseUri: {
    env: "DATABASE_URI",
    describe:
      "Postgres server to use instead of the embedded one; its role must be able to create databases and roles.",
    schema: databaseAddress.optional(),
  },
  stopAllOnExit: {
    env: "SUPERSTEP_STOP_ALL_ON_EXIT",
    describe:
      "0: SIGTERM stops only `superstep up` and its control plane; agents, builds, the edge and the embedded Postgres keep running for the next start. For service managers; Ctrl-C still stops everything.",
    ...flag(true),
  },
  publicUrl: {
    env: "SUPERSTEP_PUBLIC_URL",
    describe: "Public address of the API, when a reverse proxy is in front.",
    schema: z.string().optional(),
  },
  tlsCert: {
    env: "SUPERSTEP_TLS_CERT",
    describe: "PEM file of the certificate for HTTPS, for the API and the agents.",
    schema: path,
  },
  tlsKey: { env: "SUPERSTEP_TLS_KEY", describe: "PEM file of that certificate's key.", schema: path },
  backupSchedule: {
    env: "SUPERSTEP_BACKUP_SCHEDULE",
    describe:
      "When `superstep up` makes backups, in UTC: five fields as for cron (`0 2 * * *`), or a name such as `@daily`. With the embedded Postgres only.",
    schema: without(scheduleProblem).optional(),
  },
  backupFolder: {
    env: "SUPERSTEP_BACKUP_FOLDER",
    describe:
      "Folder for these backups, on another disk if possible; it is created. Unless set, `backups` in the data folder.",
    schema: path,
  },
  backupKeep: {
    env: "SUPERSTEP_BACKUP_KEEP",
    describe: "How many of them are kept; older ones are deleted after a success.",
    schema: wholeNumber({ least: 1, most: 999_999 }).default(7),
  },
  url: {
    env: "SUPERSTEP_URL",
    describe: "Control plane that `deploy`, `logs` and similar commands call; by default that of the data folder.",
    schema: z.string().optional(),
  },
  apiKey: {
    env: "SUPERSTEP_API_KEY",
    describe: "API key for it; by default that of the data folder.",
    schema: secret().optional(),
  },
  fromApiKey: {
    env: "SUPERSTEP_FROM_API_KEY",
    describe: "API key for the agent server that `superstep import` reads.",
    schema: secret().optional(),
  },
  fromAuthorization: {
    env: "SUPERSTEP_FROM_AUTHORIZATION",
    describe:
      "Header `Authorization` for that server, if its project has rules of its own: a user who may see all threads.",
    schema: secret().optional(),
  },
  toAuthorization: {
    env: "SUPERSTEP_TO_AUTHORIZATION",
    describe: "Header `Authorization` for the agent that `superstep import` writes to, if its project has `auth`.",
    schema: secret().optional(),
  },
  workspace: {
    env: "SUPERSTEP_WORKSPACE",
    describe: "Workspace to use, for a key that belongs to several.",
    schema: z.string().optional(),
  },
  agentsUrl: {
    env: "SUPERSTEP_AGENTS_URL",
    describe: "Public address of the agents, when a reverse proxy is in front.",
    schema: z.string().optional(),
  },
} satisfies Settings

/** The settings, and the whole environment for child processes. */
export interface Config extends Values<typeof settings> {
  readonly environment: Readonly<Record<string, string>>
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const present = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { ...readSettings(settings, env), environment: Object.fromEntries(present) }
}
