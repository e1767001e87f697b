/** What is left of a proof that found something, for its report. */
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import type { Found } from "./campaign.js"
import type { Installation } from "./installation.js"

/** @param logs  texts of servers' logs @returns  the lines that report a broken rule (toolkit/log/broken-rules.ts) */
export const brokenRulesIn = (logs: readonly string[]): string[] =>
  logs.flatMap((text) => text.split("\n").filter((line) => line.includes('"msg":"a rule is broken')))

/** What servers did that they never may, whatever is attacked: the lines that report a broken rule, and the logs of crashes. */
export const faultsOf = (installation: Pick<Installation, "servers">): string[] => [
  ...brokenRulesIn(logsOf(installation)),
  ...installation.servers.flatMap(({ name, crashes }) => crashes.map((log) => `${name} crashed: ${log}`)),
]

const logsOf = ({ servers }: Pick<Installation, "servers">): string[] =>
  servers.map(({ logFile }) => readFileSync(logFile, "utf8"))

/**
 * Copies the servers' logs, and writes what was found with all that clients saw of its threads.
 * @returns  the folder, which stays
 */
export function keepEvidence({ servers }: Pick<Installation, "servers">, found: readonly Found[]): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-prove-evidence-"))
  for (const { logFile } of servers) copyFileSync(logFile, join(folder, basename(logFile)))
  const findings = found.map(({ promise, ...rest }) => ({ promise: promise.words, ...rest }))
  writeFileSync(join(folder, "found.json"), `${JSON.stringify(findings, undefined, 2)}\n`)
  return folder
}
