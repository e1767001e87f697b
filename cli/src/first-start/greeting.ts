/** The output of `superstep up`: where everything is, and commands to paste. */
import type { Context } from "../command-line/command.js"
import { olderNode } from "../command-line/older-node.js"
import type { Credentials } from "../home/credentials.js"
import type { Home } from "../home/home.js"
import { nearPath } from "../output/near-path.js"
import type { Output } from "../output/output.js"
import { seconds } from "../output/progress.js"
import { quoted } from "../output/shell-word.js"
import { curlCommand, indented, javascriptSnippet, pythonSnippet, type Target } from "../output/try-it.js"
import type { Exit } from "../processes/child.js"
import { howToCall } from "../project/how-to-call.js"

interface Installation {
  readonly credentials: Credentials
  readonly home: Home
  /** Signs its reader in, if it has a code. */
  readonly consoleUrl: string
  readonly agentsUrl: string
  /** The version of the Node that agents are built for, if it is a newer one than ours. */
  readonly agentsNode?: string | undefined
  readonly ms: number
  /** The version of this program. */
  readonly release: string
}

/** Anything but a terminal keeps the output, as the log of a service does: it gets the place of the key, and a command that prints it. */
const whereKeyIs = ({ credentials: file }: Home): string =>
  `api_key in credentials.json: node -p ${quoted(`require(${JSON.stringify(file)}).api_key`)}`

export function showInstallation(
  err: Output,
  { credentials, home, consoleUrl, agentsUrl, agentsNode, ms, release }: Installation,
): void {
  const row = (label: string, text: string) => err.line(`  ${err.style("dim", label.padEnd(15))}${text}`)
  err.line()
  err.line(`  ${err.style("bold", "Superstep")} ${err.style("dim", `is up after ${seconds(ms)}`)}`)
  err.line()
  row("Console", err.style("bold", consoleUrl))
  row("Control plane", credentials.url)
  row("Agents", `${agentsUrl}/d/<name>`)
  row("API key", err.isTerminal ? credentials.api_key : whereKeyIs(home))
  row("Workspace", credentials.tenant_id)
  row("Commands", `${howToCall(process.cwd(), process.argv[1] ?? "", release)} --help`)
  row("Data", `${nearPath(home.folder)} (credentials.json, logs, Postgres)`)
  const node = olderNode(process.versions.node, agentsNode)
  if (node !== undefined) row("Node", err.style("dim", node))
  err.line()
}

/** @param since  milliseconds since 1970, and what began then */
export function showFirstToken(err: Output, since: { readonly at: number; readonly event: string }): void {
  err.line(`  the example streamed its first token ${seconds(Date.now() - since.at)} after ${since.event}\n`)
}

export function showTryIt({ out, err }: Pick<Context, "out" | "err">, given: Target): void {
  const target = out.isTerminal ? given : { ...given, apiKey: "<api_key in credentials.json>" }
  const title = (text: string, note = "") => out.line(`  ${out.style("bold", text)}${out.style("dim", note)}\n`)
  const code = (text: string) => out.line(`${indented(text)}\n`)
  title("Ask it", "   paste this into another terminal")
  code(curlCommand(target))
  title("JavaScript", "   npm install @langchain/langgraph-sdk@1")
  code(javascriptSnippet(target))
  title("Python", "   pip install langgraph-sdk")
  code(pythonSnippet(target))
  err.line(err.style("dim", "  Ctrl-C stops everything; the next start continues with the same data."))
}

/** The control plane is restarted automatically: agents keep running meanwhile. */
export function showRestart(err: Output, exit: Exit, delayMs: number): void {
  err.line(`  ${err.style("yellow", "!")} the control plane ${exit.words}; restarting it in ${seconds(delayMs)}`)
}

/** Requests get 503 until it is back; acknowledged data is kept. */
export function showPostgresRestart(err: Output): void {
  err.line(`  ${err.style("yellow", "!")} Postgres exited unexpectedly; restarting it`)
}
