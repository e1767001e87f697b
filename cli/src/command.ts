/** The shape of every command, and the one function that hands them to commander. */
import type { Command, Option } from "commander"
import type { Config } from "./config.js"
import type { Output } from "./output/output.js"

/** What a command is given beside its own words. */
export interface Context {
  readonly config: Config
  /** Results: what a script may read. */
  readonly out: Output
  /** Progress and advice: what a person reads meanwhile. */
  readonly err: Output
}

export interface Call<Options> extends Context {
  readonly args: readonly string[]
  readonly options: Options
}

export interface CliCommand<Options = object> {
  /** In commander's notation: `workspaces create <name>`. */
  readonly words: string
  readonly summary: string
  readonly options: readonly Option[]
  /** @throws KnownError  for everything the caller can mend; `main.ts` turns it into words and an exit code */
  run(call: Call<Options>): Promise<void>
}

/** Adds a command below the groups that its words name; `groups` says what a group is for. */
export function addCommand(
  program: Command,
  command: CliCommand,
  { context, groups }: { context: Context; groups: Readonly<Record<string, string>> },
): void {
  const words = command.words.split(" ")
  const names = words.filter((word) => !/^[<[]/.test(word))
  const rest = words.slice(names.length - 1).join(" ")
  const parent = names.slice(0, -1).reduce((above, name) => groupOf(above, name, groups), program)
  const added = parent.command(rest).description(command.summary)
  for (const option of command.options) added.addOption(option)
  added.action(() => command.run({ ...context, args: added.args, options: added.opts() }))
}

function groupOf(parent: Command, name: string, groups: Readonly<Record<string, string>>): Command {
  const found = parent.commands.find((command) => command.name() === name)
  return found ?? parent.command(name).description(groups[name] ?? "")
}
