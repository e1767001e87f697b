/** `superstep console`: an address that signs its reader in to the console. */
import type { CliCommand } from "../command-line/command.js"
import { platformApi } from "../platform/api.js"
import { type ConnectionOptions, connectAsOperator, connectionOptions } from "../platform/connection.js"

interface Code {
  readonly code: string
  readonly url: string
  readonly expires_at: string
}

export const consoleAddress: CliCommand<ConnectionOptions> = {
  words: "console",
  summary: "print an address that signs you in to the console; it works once, for 10 minutes",
  options: connectionOptions(),
  async run({ options, config, out }) {
    const api = platformApi(await connectAsOperator(options, config))
    const code = await api.send<Code>("POST", "/v2/console/codes")
    out.line(options.json ? JSON.stringify(code) : code.url)
  },
}
