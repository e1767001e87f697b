import { Option } from "commander"
import type { CliCommand } from "../command.js"
import { nearPath } from "../output/near-path.js"
import { howToCall } from "../project/how-to-call.js"
import { createProject } from "../project/template.js"

interface NewOptions {
  readonly python?: true
}

export const newProject: CliCommand<NewOptions> = {
  words: "new <name>",
  summary: "create a project with an example agent that needs no API key, in TypeScript or Python",
  options: [new Option("--python", "an agent in Python")],
  async run({ args, options, out }) {
    const { folder, name } = await createProject(args[0] ?? "", options.python ? "python-chat" : "chat")
    out.line(`${out.style("green", "✔")} ${name} is ready. Next:`)
    out.line()
    out.line(`  cd ${nearPath(folder)}`)
    // `dev` installs the packages of a project in Python.
    if (!options.python) out.line("  npm install")
    out.line(`  ${howToCall(folder, process.argv[1] ?? "")} dev`)
  },
}
