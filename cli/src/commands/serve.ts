import type { CliCommand } from "../command-line/command.js"
import { homeOption, hostOption, portOption } from "../command-line/options.js"
import { configOption } from "./dev.js"
import { serveProject } from "./serve-project.js"

interface ServeCommandOptions {
  readonly config: string
  readonly port: number
  readonly host: string
  readonly home?: string
}

export const serve: CliCommand<ServeCommandOptions> = {
  words: "serve",
  summary: "run the project in this folder for production, without a control plane",
  options: [configOption(), portOption("-p, --port <port>", "port of the API", 2024), hostOption(), homeOption()],
  run: ({ options, ...context }) => serveProject({ ...options, isDev: false, reload: false }, context),
}
