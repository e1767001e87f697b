import { Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import { homeOption, hostOption, portOption } from "../command-line/options.js"
import { serveProject } from "./serve-project.js"

interface DevOptions {
  readonly config: string
  readonly port: number
  readonly host: string
  readonly home?: string
  readonly reload: boolean
}

export const configOption = (): Option =>
  new Option("-c, --config <file>", "the project's configuration").default("langgraph.json")

export const dev: CliCommand<DevOptions> = {
  words: "dev",
  summary: "run the project in this folder, and reload it when files change",
  options: [
    configOption(),
    portOption("-p, --port <port>", "port of the API", 2024),
    hostOption(),
    homeOption(),
    new Option("--no-reload", "do not reload changed files"),
  ],
  run: ({ options, ...context }) => serveProject({ ...options, isDev: true }, context),
}
