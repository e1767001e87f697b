/** All commands by their first word, in the order in which help lists them. */
import type { CliCommand } from "./command-line/command.js"

/** Loads the commands that start with a word: `up` and `doctor` load much platform code that `list` does not need. */
export const commandTable: Readonly<Record<string, () => Promise<readonly CliCommand[]>>> = {
  up: async () => [(await import("./commands/up.js")).up],
  new: async () => [(await import("./commands/new.js")).newProject],
  dev: async () => [(await import("./commands/dev.js")).dev],
  serve: async () => [(await import("./commands/serve.js")).serve],
  prove: async () => [(await import("./commands/prove.js")).prove],
  check: async () => [(await import("./commands/check.js")).check],
  deploy: async () => [(await import("./commands/deploy.js")).deploy],
  list: async () => [(await import("./commands/deployments.js")).list],
  revisions: async () => [(await import("./commands/deployments.js")).revisions],
  logs: async () => [(await import("./commands/logs.js")).logs],
  open: async () => [(await import("./commands/deployments.js")).open],
  traffic: async () => [(await import("./commands/traffic.js")).traffic],
  promote: async () => [(await import("./commands/traffic.js")).promote],
  abort: async () => [(await import("./commands/traffic.js")).abort],
  rollback: async () => [(await import("./commands/run-state.js")).rollback],
  interrupt: async () => [(await import("./commands/run-state.js")).interrupt],
  pause: async () => [(await import("./commands/run-state.js")).pause],
  resume: async () => [(await import("./commands/run-state.js")).resume],
  restart: async () => [(await import("./commands/run-state.js")).restart],
  delete: async () => [(await import("./commands/deployments.js")).deleteDeployment],
  secrets: async () => {
    const { listSecrets, setSecret, unsetSecret } = await import("./commands/secrets.js")
    return [listSecrets, setSecret, unsetSecret, (await import("./commands/rotate-key.js")).rotateKey]
  },
  hosts: async () => {
    const { addHost, listHosts, removeHost } = await import("./commands/hosts.js")
    return [listHosts, addHost, removeHost]
  },
  workspaces: async () => {
    const { createWorkspaceCommand, listWorkspacesCommand } = await import("./commands/workspaces.js")
    return [createWorkspaceCommand, listWorkspacesCommand]
  },
  keys: async () => {
    const { createKey, listKeys, revokeKey } = await import("./commands/keys.js")
    return [createKey, listKeys, revokeKey]
  },
  quotas: async () => {
    const { setQuotas, showQuotas } = await import("./commands/quotas.js")
    return [showQuotas, setQuotas]
  },
  backup: async () => [(await import("./commands/backup.js")).backup],
  restore: async () => [(await import("./commands/backup.js")).restoreCommand],
  import: async () => [(await import("./commands/import.js")).importCommand],
  console: async () => [(await import("./commands/console.js")).consoleAddress],
  doctor: async () => [(await import("./commands/doctor.js")).doctor],
}

/** In place of a word. */
export const versionFlags = "-v, --version"

/** @returns  the commands that start with a word, or all of them when none does, as for `--help`; none for the version */
export async function commandsFor(word: string | undefined): Promise<readonly CliCommand[]> {
  if (word !== undefined && versionFlags.split(", ").includes(word)) return []
  const load = word !== undefined && Object.hasOwn(commandTable, word) ? commandTable[word] : undefined
  return load ? load() : (await Promise.all(Object.values(commandTable).map((each) => each()))).flat()
}
