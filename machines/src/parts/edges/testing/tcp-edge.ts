/** A real edge that binds its own ports, as one of several. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { edgeProcess } from "@superstep/edge/client"
import { token } from "@superstep/edge/testing/harness"
import type { Address } from "@superstep/protocol/http/address"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { FoundEdge } from "../edges.js"

export interface TcpEdge extends AsyncDisposable {
  readonly url: Address
  readonly admin: Address
  /** As the readiness probe of a cluster asks. */
  found(): Promise<FoundEdge>
  /** Starts it again at the same addresses, with its table on disk. */
  start(): void
  kill(signal?: NodeJS.Signals): Promise<number | null>
  /** Does not wait. @param signal  such as SIGSTOP: it accepts connections from then on, and answers nothing until SIGCONT */
  signal(signal: NodeJS.Signals): void
}

/**
 * Does not wait until it answers.
 * @param env    further settings
 * @param place  its host, and the port of its admin API; a free one when undefined
 */
export async function tcpEdge(
  wakeAddress: Address,
  env: Record<string, string> = {},
  { host = "127.0.0.1", adminPort }: { readonly host?: string; readonly adminPort?: number } = {},
): Promise<TcpEdge> {
  const url: Address = `http://${host}:${await freePort()}`
  const admin: Address = `http://${host}:${adminPort ?? (await freePort())}`
  const spec = edgeProcess({
    listenAddress: url,
    adminAddress: admin,
    wakeAddress,
    token,
    tablePath: join(temporaryFolder(), "table.json"),
  })
  const [program, ...args] = spec.argv
  const run = () => {
    const child = spawn(program, args, { env: { ...spec.env, ...env }, stdio: ["ignore", "pipe", "inherit"] })
    // Read, so that its pipe does not fill up.
    const output = text(child.stdout)
    return { child, ended: once(child, "exit") as Promise<[number | null]>, output }
  }
  let running = run()
  const kill: TcpEdge["kill"] = async (signal = "SIGKILL") => {
    running.child.kill(signal)
    const [code] = await running.ended
    return code
  }
  return {
    url,
    admin,
    found: async () => {
      const answered = await fetch(`${admin}/ready`).catch(() => undefined)
      return { address: admin, isReady: answered?.status === 200 }
    },
    start: () => {
      running = run()
    },
    kill,
    signal: (signal) => void running.child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      if (running.child.exitCode === null && running.child.signalCode === null) await kill()
    },
  }
}
