/**
 * Two processes with one life: the machine process, which is root, starts the control plane as a user without rights and serves it the
 * machine. If one of them ends, so does the other, and whoever supervises the first starts both again.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { endWithParent, setpriv } from "@superstep/toolkit/exec/end-with-parent"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { bindTcpSocket } from "@superstep/toolkit/http/bound-socket"
import type { Log } from "@superstep/toolkit/log/log"
import type { OpenedMachine } from "../parts/compose-machine.js"
import type { Installation } from "./calls.js"
import { openChannel } from "./channel.js"
import { remoteMachine } from "./machine-client.js"
import { serveMachine } from "./serve.js"

/** The argument by which the program knows that it is the control plane of a machine process. */
const role = "control-plane"

export const isControlProcess = (argv: readonly string[]): boolean => argv[2] === role

/** Its bound socket, on which it serves the API. */
export const apiDescriptor = 3
const channelDescriptor = 4

export interface ControlProcessOptions {
  readonly machine: OpenedMachine
  readonly user: OsUser
  readonly onSignal: Installation["onSignal"]
  /** The script that is started, with `isControlProcess`. */
  readonly script: string
  readonly home: string
  readonly environment: NodeJS.ProcessEnv
  /** Of the API. */
  readonly address: { readonly host: string; readonly port: number }
  readonly log: Log
}

/** How a process has ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * Starts the control plane, and serves it the machine.
 * @returns  how it has ended
 * @throws AddressInUse  another process listens on the API's address
 */
export async function runControlProcess(options: ControlProcessOptions): Promise<End> {
  const { machine, onSignal, log } = options
  const child = await start(options)
  const installation: Installation = { facts: async () => machine.facts, stopAll: machine.stopAll, onSignal }
  openChannel(child.stdio[channelDescriptor] as Duplex, serveMachine({ ...machine, installation }), (err) => {
    if (err) log.error({ err }, "the control plane sent what is no message: it is ended")
    // It has ended, or ends by this: without the machine it can do nothing.
    child.kill("SIGKILL")
  })
  return await new Promise<End>((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code, signal) => resolve({ code, signal }))
  })
}

async function start({ user, script, home, environment, address }: ControlProcessOptions): Promise<ChildProcess> {
  using api = await bindTcpSocket(address)
  const command = [process.execPath, ...process.execArgv, script, role] as const
  const [program, ...args] = withoutRights(command, user)
  return spawn(program, args, {
    cwd: home,
    env: environment,
    // setpriv changes the user itself, after which it asks for the signal at the parent's death.
    ...(program === command[0] && user),
    stdio: ["ignore", "inherit", "inherit", api.descriptor, "pipe"],
  })
}

/** As this user, whom no program gives more rights; killed when its parent dies. */
function withoutRights(command: readonly [string, ...string[]], { uid, gid }: OsUser): readonly [string, ...string[]] {
  if (!existsSync(setpriv)) return command
  const asUser = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--no-new-privs"]
  const [program, ...args] = endWithParent(command)
  return [program, ...asUser, ...args]
}

/** The machine process's end of a control plane: the machine, as far as it is served. This process ends with the other one. */
export function machineOfParent(log: Log): ReturnType<typeof remoteMachine> {
  const stream = new Socket({ fd: channelDescriptor })
  const refuse = () => {
    throw new Error("the machine process calls nothing by name")
  }
  const channel = openChannel(stream, refuse, () => process.exit(1))
  return remoteMachine(channel, log)
}
