/** A second release: this one's compiled packages in another folder, under another number. And a `superstep up` of it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type LocalPlatform, withoutSettings } from "./platform.js"

const repository = fileURLToPath(new URL("../../..", import.meta.url))

const packages = {
  "@superstep/control": "control",
  "@superstep/machines": "machines",
  "@superstep/builder": "builder",
  "@superstep/edge": "edge",
  "@superstep/oci": "oci",
  "@superstep/protocol": "protocol",
  "@superstep/server": "server",
  "@superstep/toolkit": "toolkit",
  "@superstep/worker-js": "workers/js",
  superstep: "cli",
}

export interface Release {
  readonly folder: string
  readonly version: string
}

/** @returns an installation of its own; what other people wrote is linked to */
export async function installRelease(version: string): Promise<Release> {
  const folder = temporaryFolder()
  for (const path of [...Object.values(packages), "workers/python", "examples"]) {
    const isWanted = (source: string) => !/\.map$|\.test\.|node_modules/.test(basename(source))
    await cp(join(repository, path), join(folder, path), { recursive: true, filter: isWanted })
  }
  for (const path of Object.values(packages)) {
    const file = join(folder, path, "package.json")
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), version }))
  }
  // The programs are compared with it at their start.
  await cp(join(repository, "package-lock.json"), join(folder, "package-lock.json"))
  const modules = join(folder, "node_modules")
  await mkdir(join(modules, "@superstep"), { recursive: true })
  const others = await readdir(join(repository, "node_modules"))
  for (const name of others.filter((it) => it !== "@superstep" && it !== "superstep"))
    await symlink(join(repository, "node_modules", name), join(modules, name))
  for (const [name, path] of Object.entries(packages)) await symlink(join(folder, path), join(modules, name))
  return { folder, version }
}

export interface Program extends AsyncDisposable {
  readonly child: ChildProcess
  /** What it printed so far. */
  output(): string
  /** Its exit code; null when it was killed. */
  readonly ended: Promise<number | null>
}

/** `superstep up --take-over` of a release, on the folder of a platform that runs. Disposing of it ends it by Ctrl-C. */
export function startTakeOver(
  { folder }: Pick<Release, "folder">,
  { home }: Pick<LocalPlatform, "home">,
  { args = [], env = {} }: { args?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Program {
  const main = join(folder, "cli/programs/main.js")
  const child = spawn(process.execPath, [main, "up", "--take-over", "--home", home, ...args], {
    cwd: dirname(home),
    env: { ...withoutSettings(), SUPERSTEP_FETCH_NODE: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let printed = ""
  for (const output of [child.stdout, child.stderr]) output.setEncoding("utf8").on("data", (text) => (printed += text))
  const ended = once(child, "close").then(([code]) => code as number | null)
  return {
    child,
    output: () => printed,
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGINT")
      await ended
    },
  }
}

export async function untilUp(program: Program): Promise<void> {
  const isUp = () => {
    if (program.child.exitCode !== null) throw new Error(`it ended with ${program.child.exitCode}: ${program.output()}`)
    return program.output().includes("Superstep is up")
  }
  await until(isUp, { what: "it has taken over", timeoutMs: 60_000 })
}
