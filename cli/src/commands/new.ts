import { Option } from "commander"
import type { Call, CliCommand } from "../command-line/command.js"
import { ask } from "../output/ask.js"
import { nearPath } from "../output/near-path.js"
import { shellWord } from "../output/shell-word.js"
import { howToCall } from "../project/how-to-call.js"
import { createProject } from "../project/template.js"

interface NewOptions {
  readonly python?: true
  readonly typescript?: true
}

const standardName = "my-agent"

/** It needs no settings: the package `create-superstep` has none (create-main.ts). */
export const newProject = {
  words: "new [name]",
  summary: "create a project with an example agent that needs no API key, in TypeScript or Python",
  options: [
    new Option("--typescript", "an agent in TypeScript (the default)").conflicts("python"),
    new Option("--python", "an agent in Python"),
  ],
  async run({ args, options, out, release }: Omit<Call<NewOptions>, "config" | "err">) {
    const [named] = args
    const mayAsk = named === undefined && process.stdin.isTTY
    const path = named ?? (mayAsk ? await ask("Name of the project", standardName) : standardName)
    const isAsked = mayAsk && !options.python && !options.typescript
    const isPython = options.python || (isAsked && /^p/i.test(await ask("TypeScript or Python", "TypeScript")))
    const { folder, name } = await createProject(path, isPython ? "python-chat" : "chat", release)
    out.line(`${out.style("green", "✔")} ${name} is ready. Next:`)
    out.line()
    out.line(`  cd ${shellWord(nearPath(folder))}`)
    // `dev` installs the packages of a project in Python.
    if (!isPython) out.line("  npm install")
    out.line(`  ${howToCall(folder, process.argv[1] ?? "", release)} dev`)
  },
} satisfies CliCommand<NewOptions>
