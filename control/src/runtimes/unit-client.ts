/** What the control plane says to a unit (protocol/unit, "Requests of the control plane"). */
import { request as httpRequest, type IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Secret } from "@superstep/toolkit/config/settings"
import { preflightRule } from "@superstep/toolkit/http/cross-origin"
import { z } from "zod"

export interface UnitAddress {
  readonly socketPath: string
  readonly token: Secret
}

const statusSchema = z.object({
  revision_id: z.string().nullable(),
  pid: z.number(),
  ready: z.boolean(),
  graphs: z.array(z.string()),
  failed: z.array(z.object({ graph_id: z.string(), message: z.string() })),
  serving: z.boolean(),
  running_runs: z.number(),
  open_streams: z.number(),
  // A unit of an older release, which an upgrade left running, does not count them.
  worker_crashes: z.object({ count: z.number(), last: z.string().nullable() }).default({ count: 0, last: null }),
  // One of an older release does not tell; a rule that the edge cannot use is as good as none.
  cross_origin: preflightRule.nullable().catch(null),
})

export type UnitReport = z.infer<typeof statusSchema>

/** @returns undefined while the unit does not answer, or does not yet know how it is */
export async function askStatus(address: UnitAddress, signal?: AbortSignal): Promise<UnitReport | undefined> {
  const reply = await ask(address, "GET", "/internal/status", signal).catch(undefinedIfUnreachable)
  if (!reply || reply.status >= 500) return undefined
  if (reply.status !== 200) throw new Error(`the unit answered its status with ${reply.status}: ${reply.body}`)
  return statusSchema.parse(JSON.parse(reply.body))
}

/**
 * Whether a unit whose process runs can serve. `silent`: it did not answer in time. A unit with too much to do may be, so this
 * alone does not say that it is broken: one that hangs is ended after a while (reconcile-unit.ts).
 */
export async function askReadiness(
  address: UnitAddress,
  limitMs = timeoutMs,
): Promise<"ready" | "not ready" | "silent"> {
  try {
    const reply = await ask(address, "GET", "/internal/status", undefined, limitMs)
    return reply.status === 200 && statusSchema.parse(JSON.parse(reply.body)).ready ? "ready" : "not ready"
  } catch (error) {
    if ((error as Error).name === "TimeoutError") return "silent"
    return undefinedIfUnreachable(error) ?? "not ready"
  }
}

/**
 * Whether a unit that runs takes a connection and says nothing for so long, since its process is stopped or stuck; or has
 * no socket where we look for it, as one that a former release started: nobody reaches it. A unit that only has too much to
 * do does not hang: unlike its status, this question waits for nothing.
 * @param forMs  in milliseconds
 */
export async function hangs(address: UnitAddress, forMs: number): Promise<boolean> {
  try {
    await ask(address, "GET", "/internal/live", undefined, forMs)
    return false
  } catch (error) {
    const { name, code } = error as NodeJS.ErrnoException
    if (name === "TimeoutError" || code === "ENOENT") return true
    undefinedIfUnreachable(error)
    return false
  }
}

const idleSchema = z.object({ is_idle: z.boolean(), next_due_ms: z.number().nullable() })

export type IdleReport = z.infer<typeof idleSchema>

/** @returns whether it has nothing to do, and when that ends; undefined while it does not answer */
export async function askIdle(address: UnitAddress): Promise<IdleReport | undefined> {
  const reply = await ask(address, "GET", "/internal/idle").catch(undefinedIfUnreachable)
  // 404: a unit of a former release, which an upgrade left running, cannot tell.
  if (!reply || reply.status >= 500 || reply.status === 404) return undefined
  if (reply.status !== 200) throw new Error(`the unit answered whether it is idle with ${reply.status}: ${reply.body}`)
  return idleSchema.parse(JSON.parse(reply.body))
}

export interface RunCounts {
  readonly pending: number
  readonly active: number
}

// The database's whole numbers end here, and so do queues.
const mostCount = 2 ** 31 - 1

/**
 * How many runs of the unit's deployment wait and execute. A project with an app answers this path itself if it likes.
 * @returns undefined when nobody tells a number that can be
 */
export async function askRuns(address: UnitAddress): Promise<RunCounts | undefined> {
  const reply = await ask(address, "GET", "/metrics").catch(undefinedIfUnreachable)
  if (reply?.status !== 200) return undefined
  const count = (status: string) => {
    const told = new RegExp(`^superstep_runs\\{[^}]*status="${status}"[^}]*\\} (\\d+)`, "m").exec(reply.body)?.[1]
    const number = Number(told ?? Number.NaN)
    return number <= mostCount ? number : undefined
  }
  const [pending, active] = [count("pending"), count("running")]
  return pending === undefined || active === undefined ? undefined : { pending, active }
}

/**
 * Makes the unit's revision the one that executes runs. Repeating it is fine.
 * @throws Error  when the unit does not answer or refuses
 */
export async function activate(address: UnitAddress, signal?: AbortSignal): Promise<void> {
  const { status, body } = await ask(address, "POST", "/internal/activate", signal)
  if (status >= 300) throw new Error(`the unit refused to serve with ${status}: ${body}`)
}

// Longer than a unit's busiest moment; a unit that says nothing for so long is stuck.
const timeoutMs = 10_000

// On a Unix socket a full queue of connections is an error at once, where TCP would wait: so we wait.
const fullQueue = "EAGAIN"
const fullQueuePauseMs = 50

async function ask(
  address: UnitAddress,
  method: string,
  path: string,
  signal?: AbortSignal,
  limitMs = timeoutMs,
): Promise<{ status: number; body: string }> {
  const limit = AbortSignal.timeout(limitMs)
  const either = signal ? AbortSignal.any([signal, limit]) : limit
  for (;;) {
    try {
      return await askOnce(address, method, path, either)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== fullQueue) throw error
    }
    await sleep(fullQueuePauseMs, undefined, { signal: either }).catch(() => {
      throw either.reason
    })
  }
}

function askOnce(
  { socketPath, token }: UnitAddress,
  method: string,
  path: string,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const headers = { "x-superstep-unit": token.reveal(), "content-length": 0 }
  return new Promise((resolve, reject) => {
    // Node says of every end by a signal that it is an abort.
    const fail = (error: unknown) => reject(signal.aborted ? signal.reason : error)
    const request = httpRequest({ socketPath, method, path, headers, agent: false, signal }, (response) => {
      textOf(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), fail)
    })
    request.once("error", fail)
    request.end()
  })
}

// A report names every graph and why it does not load.
const mostBytes = 4 * 1024 * 1024

class ReplyTooLarge extends Error {
  readonly code = "REPLY_TOO_LARGE"
}

/** @throws ReplyTooLarge  what answers may be code of a deployment, which never stops talking */
async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new ReplyTooLarge(`a unit answered with more than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const unreachable = ["REPLY_TOO_LARGE", "ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"]

function undefinedIfUnreachable(error: unknown): undefined {
  const { code, name } = error as NodeJS.ErrnoException
  if (unreachable.includes(code ?? "") || name === "TimeoutError") return undefined
  throw error
}
