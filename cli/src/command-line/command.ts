/** The interface of commands, and the function that registers them with commander. */
import { type Command, CommanderError, type Option } from "commander"
import type { Output } from "../output/output.js"
import type { Config } from "./config.js"

/** The context of a command, besides its arguments. */
export interface Context {
  readonly config: Config
  /** For results, which scripts may read. */
  readonly out: Output
  /** For progress and advice, which people read. */
  readonly err: Output
  /** The version of this program. */
  readonly release: string
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
  /** The exit code when it fails or its arguments are wrong; default 1, which of some commands is a result. */
  readonly failureCode?: number
  /** @throws KnownError  for everything the caller can fix; `main.ts` turns it into a message and an exit code */
  run(call: Call<Options>): Promise<void>
}

/** Adds a command to the groups that its words name; `groups` has their descriptions. */
export function addCommand(
  program: Command,
  command: CliCommand,
  { context, groups }: { context: () => Promise<Context>; groups: Readonly<Record<string, string>> },
): void {
  const words = command.words.split(" ")
  const names = words.filter((word) => !/^[<[]/.test(word))
  const rest = words.slice(names.length - 1).join(" ")
  const parent = names.slice(0, -1).reduce((above, name) => groupOf(above, name, groups), program)
  const added = parent.command(rest).description(command.summary)
  for (const option of command.options) added.addOption(option)
  const { failureCode } = command
  if (failureCode !== undefined)
    added.exitOverride((error) => {
      throw error.exitCode === 0 ? error : new CommanderError(failureCode, error.code, error.message)
    })
  added.action(async () => {
    try {
      await command.run({ ...(await context()), args: added.args, options: added.opts() })
    } catch (error) {
      process.exitCode = failureCode
      throw error
    }
  })
}

function groupOf(parent: Command, name: string, groups: Readonly<Record<string, string>>): Command {
  const found = parent.commands.find((command) => command.name() === name)
  return found ?? parent.command(name).description(groups[name] ?? "")
}
