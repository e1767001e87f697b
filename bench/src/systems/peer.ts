/**
 * The peer: the public JavaScript dev server, in memory, installed from npm into a folder that git ignores. It runs the
 * same graphs from a separate folder, because it writes its state next to them.
 */
import { execFile } from "node:child_process"
import { cp, mkdir, readFile, symlink } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { pathTo } from "../paths.js"
import type { Kind, Place } from "./system.js"

const installation = pathTo(".superstep/peer")
const slots = 10

export function peer({ folder }: Place): Kind {
  let count = 0
  return {
    name: "peer",
    saysEnd: false,
    pids: [],
    prepare: async () => {
      const project = join(folder, `peer-${++count}`)
      await cp(pathTo("graphs"), project, { recursive: true })
      await symlink(join(installation, "node_modules"), join(project, "node_modules"))
      const port = await freePort()
      const cli = join(installation, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs")
      const options = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", `${port}`, "-n", `${slots}`]
      return {
        program: {
          argv: [process.execPath, cli, "dev", ...options],
          env: { LANGSMITH_TRACING: "false", BROWSER: "none" },
          logFile: join(folder, "peer.log"),
          cwd: project,
        },
        target: { address: { host: "127.0.0.1", port }, prefix: "", headers: {} },
      }
    },
  }
}

/** Installs the versions of `peer/package.json`, unless they are installed already. */
export async function installPeer(): Promise<void> {
  const wanted = await readFile(pathTo("peer/package.json"), "utf8")
  const installed = await readFile(join(installation, "installed.json"), "utf8").catch(ifCode(["ENOENT"]))
  if (installed === wanted) return
  await mkdir(installation, { recursive: true })
  await cp(pathTo("peer/package.json"), join(installation, "package.json"))
  // npm cannot resolve the peer dependencies of its packages in reasonable time.
  const args = ["install", "--legacy-peer-deps", "--no-fund", "--no-audit", "--loglevel=error"]
  await promisify(execFile)("npm", args, { cwd: installation })
  await cp(pathTo("peer/package.json"), join(installation, "installed.json"))
}
