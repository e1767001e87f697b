/**
 * A worker for tests that speaks the real protocol and misbehaves on demand. A graph's path selects what happens when it is
 * loaded; a run's input selects what happens when it is executed.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { connect } from "node:net"
import { FrameReader } from "@superstep/protocol/worker/frame-reader"
import type { ServerFrame } from "@superstep/protocol/worker/frames"
import { FrameWriter } from "../frame-writer.js"
import type { PayloadLine } from "../port.js"

type RunFrame = Extract<ServerFrame, { type: "run" }>

/** The input of a run: its steps, in order. */
export type Step =
  | { readonly do: "events"; readonly count: number; readonly sizeBytes: number }
  | { readonly do: "done"; readonly values?: unknown }
  | { readonly do: "exit"; readonly code: number }
  | { readonly do: "exit_after_done" }
  | { readonly do: "kill" }
  | { readonly do: "report"; readonly busy: number }
  | { readonly do: "wait" }
  | { readonly do: "pause" }
  | { readonly do: "spin"; readonly untilFile?: string }
  | { readonly do: "hog"; readonly sizeBytes: number }
  | { readonly do: "start" }
  | { readonly do: "garbage" }
  | { readonly do: "call"; readonly method: string; readonly lines: readonly string[] }
  | { readonly do: "environment" }

const socket = connect(process.env.SUPERSTEP_WORKER_SOCKET ?? "")
const writer = new FrameWriter(socket)
const answers = new Map<string, (frame: ServerFrame) => void>()
const waiting = new Map<string, RunFrame>()
const hoard: Buffer[] = []
let lastCall = 0

const json = (name: string, value: unknown): PayloadLine => ({
  name,
  data: value === undefined ? "" : JSON.stringify(value),
})

const end = ({ run_id, claim_id }: RunFrame, status: string, values?: unknown) =>
  writer.write({ type: "done", run_id, claim_id, status, next: [] }, [json("values", values), json("interrupts", {})])

function load(graphs: Readonly<Record<string, string>>): void {
  const paths = Object.entries(graphs)
  if (paths.some(([, path]) => path === "./exit:now")) process.exit(3)
  if (paths.some(([, path]) => path === "./never:loads")) return
  const isFirst = process.env.SUPERSTEP_WORKER_ID?.split(".")[1] === "1"
  if (!isFirst && paths.some(([, path]) => path === "./first:only")) return
  // The first process of each worker is killed while it loads.
  if (paths.some(([, path]) => path === "./killed:once") && /\.1$/.test(process.env.SUPERSTEP_WORKER_ID ?? "")) {
    process.kill(process.pid, "SIGKILL")
  }
  const isSolo = process.env.SUPERSTEP_WORKER_ID?.startsWith("solo")
  if (isSolo && paths.some(([, path]) => path === "./exit:alone")) process.exit(3)
  if (isSolo && paths.some(([, path]) => path === "./never:alone")) return
  // Exits after it has reported what it loaded.
  if (paths.some(([, path]) => path === "./exit:later")) setImmediate(() => socket.end(() => process.exit(3)))
  const failed = paths.filter(([, path]) => path.startsWith("./broken"))
  writer.write({
    type: "loaded",
    graphs: paths.filter((entry) => !failed.includes(entry)).map(([graph_id]) => ({ graph_id })),
    failed: failed.map(([graph_id]) => ({
      graph_id,
      error: { name: "SyntaxError", message: "unexpected token", code_frame: "> 1 | expot const graph" },
    })),
  })
}

async function execute(run: RunFrame, steps: readonly Step[]): Promise<void> {
  for (const step of steps) await take(run, step)
}

async function take(run: RunFrame, step: Step): Promise<void> {
  const { run_id, claim_id } = run
  const event = (name: string, value: unknown) =>
    writer.write({ type: "event", run_id, claim_id, event: name }, [json("data", value)])
  switch (step.do) {
    case "events": {
      const text = "x".repeat(step.sizeBytes)
      for (let n = 0; n < step.count; n += 1) event("updates", { n, text })
      return
    }
    case "done":
      end(run, "success", step.values)
      return
    case "exit":
      process.exit(step.code)
      break
    case "exit_after_done":
      end(run, "success", { last: "word" })
      // The bytes must be sent first, or the exit would come before the run's end.
      setImmediate(() => socket.end(() => process.exit(0)))
      return
    case "kill":
      process.kill(process.pid, "SIGKILL")
      return
    case "report":
      writer.write({ type: "load_report", busy: step.busy, memory_mb: 100 })
      return
    case "wait":
      waiting.set(run_id, run)
      event("waiting", {})
      return
    case "pause":
      // Sends what was written before the next step.
      await new Promise((resolve) => setImmediate(resolve))
      return
    case "spin": {
      while (step.untilFile === undefined || !existsSync(step.untilFile));
      return
    }
    case "hog":
      hoard.push(Buffer.alloc(step.sizeBytes, 1))
      event("holding", {})
      return
    case "start": {
      // This process outlives its parent unless it is killed.
      const { pid } = spawn("sleep", ["1000"], { stdio: "ignore" })
      event("started", { pid })
      return
    }
    case "garbage":
      socket.write("this is not a frame\n")
      return
    case "call": {
      const answer = await call({ method: step.method, run_id, claim_id }, step.lines)
      event("answer", answer)
      return
    }
    case "environment":
      event("environment", { ...process.env, PID: String(process.pid) })
  }
}

function call(fields: object, lines: readonly string[]): Promise<ServerFrame> {
  lastCall += 1
  const call_id = String(lastCall)
  writer.write(
    { type: "call", call_id, ...fields },
    lines.map((data) => ({ name: "operations", data })),
  )
  return new Promise((resolve) => answers.set(call_id, resolve))
}

function answer(frame: Extract<ServerFrame, { type: "call" }>): void {
  const { call_id, method } = frame
  const fields: Record<string, unknown> = { ...frame }
  if (fields.thread_id === "die") process.exit(4)
  // Replies after every limit of a test; later calls are answered at once.
  if (fields.thread_id === "late") {
    setTimeout(() => writer.write({ type: "reply", call_id }, [json("state", {})]), 200)
    return
  }
  const [, failure] = /^fail:?(.*)$/.exec(String(fields.thread_id)) ?? []
  if (failure !== undefined) {
    writer.write({ type: "failure", call_id, error: { error: failure || "TypeError", message: "no such state" } })
  } else {
    writer.write({ type: "reply", call_id }, [json("state", { method, asked_of: process.env.SUPERSTEP_WORKER_ID })])
  }
}

const reader = new FrameReader<ServerFrame>(JSON.parse, (frame, payload) => {
  switch (frame.type) {
    case "load":
      load(frame.graphs)
      break
    case "run":
      void execute(frame, JSON.parse(payload[0]?.toString("utf8") || "[]"))
      break
    case "pause_events":
    case "resume_events": {
      // Shows the test that the frame arrived.
      const { run_id, claim_id, type } = frame
      writer.write({ type: "event", run_id, claim_id, event: type }, [json("data", {})])
      break
    }
    case "cancel": {
      const run = waiting.get(frame.run_id)
      if (run) end(run, "cancelled")
      break
    }
    case "drain":
      for (const run of waiting.values()) end(run, "drained")
      break
    case "call":
      answer(frame)
      break
    case "reply":
    case "failure":
      answers.get(frame.call_id)?.(frame)
      break
    case "ping":
      writer.write({ type: "pong", nonce: frame.nonce })
      break
    case "stop":
      process.exit(0)
  }
})

socket.on("data", (chunk) => reader.push(chunk))
socket.on("close", () => process.exit(0))
writer.write({
  type: "hello",
  protocol: 1,
  worker_id: process.env.SUPERSTEP_WORKER_ID,
  pid: process.pid,
  language: "javascript",
  language_version: process.version,
})
