/**
 * The program of a build's pod, which runs once in each container: `build` runs the project's commands and sees no secret but those that they
 * need to install packages, `verify` loads the graphs with the deployment's variables, and `push` sends the result with the registry's login.
 */
import { writeFileSync } from "node:fs"
import { lstat, readFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { artifactStore } from "@superstep/oci/registry/artifact-store"
import { registryAt } from "@superstep/oci/registry/client"
import { credentialsIn } from "@superstep/oci/registry/login-file"
import { originOf } from "@superstep/oci/registry/reference"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { readPlainFile } from "@superstep/toolkit/files/read-plain-file"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { createLog } from "@superstep/toolkit/log/log"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { failedResult, finishBuild, runSteps } from "../build.js"
import type { BuildContext } from "../build-input.js"
import { type FailedBuild, parsePublished, parseRequest, parseSending } from "../build-request.js"
import { cloneTree } from "../clone-tree.js"
import { readProjectConfig } from "../project/project-facts.js"
import { lineWriter } from "./job-log.js"
import { countOomKills, failureText, inJob, secretFiles } from "./job-places.js"

const terminationLog = "/dev/termination-log"
// Names of graphs.
const maxResultBytes = 1024 * 1024

class PartFailed extends Error {
  readonly result: FailedBuild
  constructor(result: FailedBuild) {
    super(result.message)
    this.result = result
  }
}

const stopping = new AbortController()
process.once("SIGTERM", () => stopping.abort())

const required = async <T>(folder: string, name: string): Promise<T> => {
  const found = await readJson<T>(join(folder, name))
  if (found === undefined) throw new Error(`${join(folder, name)} is missing`)
  return found
}

async function inBuild(
  variables: Readonly<Record<string, string>>,
  work: (context: BuildContext) => Promise<void>,
): Promise<void> {
  const hide = hideSecrets(Object.values(variables))
  const writeLine = lineWriter((line) => process.stdout.write(line), hide)
  const request = parseRequest(await required(inJob.request, secretFiles.request))
  // Whoever ends the container ends all its processes.
  const context = { request, agentEnv: variables, writeLine, onStart: () => undefined, signal: stopping.signal }
  await work(context).catch((error: unknown) => {
    if (stopping.signal.aborted) throw error
    throw new PartFailed(failedResult(error, hide, writeLine))
  })
}

const build = () =>
  inBuild({}, async (context) => {
    cloneTree(`/${inJob.source}`, inJob.tree, { mode: "copy", owner: null })
    await runSteps(context)
  })

const verify = async () =>
  inBuild(await required(inJob.variables, secretFiles.variables), async (context) => {
    await writeJson(inJob.result, await finishBuild(context))
    // The layers of the result need its room.
    await removeTree(inJob.cache)
    context.writeLine("build finished")
  })

async function push(): Promise<void> {
  const { host, repository, homeId, artifactId, configPath } = parseSending(
    await required(inJob.sending, secretFiles.sending),
  )
  // A link in its place could lead to files that only this container has.
  if (!(await lstat(inJob.artifact)).isDirectory()) throw new Error("the result of the build is no folder")
  const found = await readPlainFile(dirname(inJob.result), basename(inJob.result), maxResultBytes)
  const { graphs, langgraph_version, lacks_schemas } = parsePublished(JSON.parse(found ?? "null"))
  const login = () => credentialsIn(join(inJob.sending, secretFiles.login), host)
  const store = artifactStore({
    registry: registryAt({ origin: originOf({ host }), login }),
    target: { host, repository },
    folder: inJob.layers,
    homeId,
    log: createLog({ process: "build", level: "info" }),
  })
  const { env } = await readProjectConfig(inJob.artifact, configPath)
  await store.put(artifactId, inJob.artifact, {
    configEnv: env,
    verified: { graphs, langgraphVersion: langgraph_version, lacksSchemas: lacks_schemas },
  })
}

const works: Readonly<Record<string, () => Promise<void>>> = { build, verify, push }

async function main(): Promise<number> {
  const work = works[process.argv[2] ?? ""]
  if (!work) throw new Error(`expected one of ${Object.keys(works).join(", ")}`)
  try {
    await work()
    return 0
  } catch (error) {
    writeFileSync(terminationLog, failureText(stopping.signal.aborted ? stopped : await failureOf(error)))
    return 1
  }
}

type Failure = Pick<FailedBuild, "error_code" | "message">

const stopped: Failure = {
  error_code: "internal",
  message: "it was stopped from outside, such as by a drain of its node",
}

async function failureOf(error: unknown): Promise<Failure> {
  if (!(error instanceof PartFailed))
    return { error_code: "internal", message: error instanceof Error ? error.message : String(error) }
  const { error_code, message } = error.result
  // Some nodes kill only the process that asked for too much memory.
  return { error_code: (await oomKills()) > 0 ? "build_oom" : error_code, message }
}

async function oomKills(): Promise<number> {
  const texts = await Promise.all(memoryEvents.map((file) => readFile(file, "utf8").catch(ifCode(missing, ""))))
  return countOomKills(texts.join("\n"))
}

// Of this container, in both versions of control groups.
const memoryEvents = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]

// Programs of the project may have left processes that hold our pipes open; they end with the container.
process.exit(await main())
