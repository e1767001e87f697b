import type { CliCommand } from "../command.js"
import { nearPath } from "../output/near-path.js"
import { howToCall } from "../project/how-to-call.js"
import { createProject } from "../project/template.js"

export const newProject: CliCommand = {
  words: "new <name>",
  summary: "make a folder with a first agent (TypeScript, needs no key)",
  options: [],
  async run({ args, out }) {
    const { folder, name } = await createProject(args[0] ?? "", "chat")
    out.line(`${out.style("green", "✔")} ${name} is ready. Next:`)
    out.line()
    out.line(`  cd ${nearPath(folder)}`)
    out.line("  npm install")
    out.line(`  ${howToCall(folder, process.argv[1] ?? "")} dev`)
  },
}
