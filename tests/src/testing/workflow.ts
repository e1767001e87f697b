/** Runs a job of a GitHub workflow as a runner does: GitHub's own parser and expressions, and each step's shell with GitHub's files. */
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { data, Evaluator, Lexer, Parser } from "@actions/expressions"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { build } from "esbuild"
import { parse } from "yaml"

interface Step {
  readonly name?: string
  readonly id?: string
  readonly uses?: string
  readonly run?: string
  readonly env?: Readonly<Record<string, string>>
}

interface Job {
  readonly if?: string
  readonly environment: string | { readonly name: string; readonly url: string }
  readonly env?: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}

export interface Workflow {
  readonly defaults: { readonly run: { readonly shell: string } }
  readonly env: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

export interface JobContext {
  readonly github: object
  readonly secrets: Readonly<Record<string, string>>
  readonly vars: Readonly<Record<string, string>>
  /** What an action of others does, by its name with the version; any that is missing fails the job. */
  readonly actions: Readonly<Record<string, (workspace: string) => Promise<void>>>
  /** Over those of a runner. */
  readonly env: Readonly<Record<string, string>>
}

export interface EndedJob {
  readonly succeeded: boolean
  readonly environment: { readonly name: string; readonly url: string }
  readonly summary: string
  /** What its steps printed. */
  readonly log: string
}

/** @throws Error  with what GitHub would say about the file */
export async function readWorkflow(file: string): Promise<Workflow> {
  const content = readFileSync(file, "utf8")
  const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await loadParser()
  const { context, value } = parseWorkflow({ name: file, content }, new NoOperationTraceWriter())
  if (value) await convertWorkflowTemplate(context, value)
  const errors = context.errors.getErrors()
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join("\n"))
  return parse(content) as Workflow
}

/** It imports JSON as only bundlers do. */
async function loadParser(): Promise<typeof import("@actions/workflow-parser")> {
  const outfile = join(temporaryFolder(), "parser.cjs")
  const entry = fileURLToPath(import.meta.resolve("@actions/workflow-parser"))
  await build({ entryPoints: [entry], bundle: true, format: "cjs", platform: "node", outfile })
  return import(outfile)
}

/** @returns  how it ended; undefined when its condition leaves it out */
export async function runJob(workflow: Workflow, name: string, context: JobContext): Promise<EndedJob | undefined> {
  const job = workflow.jobs[name]
  if (!job) throw new Error(`the workflow has no job ${name}`)
  const values = { github: context.github, secrets: context.secrets, vars: context.vars, steps: {} }
  if (job.if !== undefined && evaluate(`!!(${job.if})`, values) !== "true") return undefined
  const [workspace, files] = [temporaryFolder(), temporaryFolder()]
  const runnerFile = (file: string) => {
    writeFileSync(join(files, file), "")
    return join(files, file)
  }
  const summary = runnerFile("summary")
  const jobEnv = { ...filledAll(workflow.env, values), ...filledAll(job.env, values) }
  const printed: string[] = []
  let succeeded = true
  for (const step of job.steps) {
    const known = { ...values, env: jobEnv }
    if (step.uses !== undefined) {
      const action = context.actions[step.uses]
      if (!action) throw new Error(`there is no ${step.uses} here`)
      await action(workspace)
      continue
    }
    const output = runnerFile("output")
    const env = {
      ...{ CI: "true", GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: workspace, RUNNER_TEMP: files },
      ...{ GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: summary },
      ...context.env,
      ...jobEnv,
      ...filledAll(step.env, known),
    }
    const script = join(files, "step.sh")
    writeFileSync(script, filled(step.run ?? "", known))
    const { code, text } = await runShell(workflow.defaults.run.shell, script, { cwd: workspace, env })
    printed.push(text)
    if (step.id) Object.assign(values.steps, { [step.id]: { outputs: outputsIn(readFileSync(output, "utf8")) } })
    succeeded = code === 0
    if (!succeeded) break
  }
  const { environment } = job
  const place = typeof environment === "string" ? { name: environment, url: "" } : environment
  return {
    succeeded,
    environment: { name: filled(place.name, values), url: filled(place.url, values) },
    summary: readFileSync(summary, "utf8"),
    log: printed.join(""),
  }
}

/** GitHub's command line for `shell: bash`. */
function runShell(shell: string, script: string, options: { cwd: string; env: Readonly<Record<string, string>> }) {
  if (shell !== "bash") throw new Error(`the shell ${shell} is not known here`)
  const args = ["--noprofile", "--norc", "-eo", "pipefail", script]
  return new Promise<{ code: number; text: string }>((resolve, reject) => {
    execFile("bash", args, { ...options, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      const code = error ? error.code : 0
      if (typeof code !== "number") return reject(error)
      resolve({ code, text: stdout + stderr })
    })
  })
}

const outputsIn = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^([\w-]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]))

const filledAll = (texts: Readonly<Record<string, string>> = {}, values: object) =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(text, values)]))

/** Text with its `${{ … }}` replaced. */
const filled = (text: string, values: object): string =>
  text.replace(/\$\{\{(.*?)\}\}/gs, (_, expression: string) => evaluate(expression, values))

function evaluate(expression: string, values: object): string {
  const { tokens } = new Lexer(expression.trim()).lex()
  const parsed = new Parser(tokens, Object.keys(values), []).parse()
  const context = JSON.parse(JSON.stringify(values), data.reviver) as data.Dictionary
  return new Evaluator(parsed, context).evaluate().coerceString()
}
