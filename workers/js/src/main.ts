/**
 * A worker process: connects to its server, loads what it is told, executes runs. It ends when the socket closes
 * (exit 0 after `stop`), or non-zero when user code calls `process.exit`, or throws where no run can be blamed.
 */
import { connect } from "node:net"
import { readConfig } from "./config.js"
import { Connection } from "./connection.js"
import { Gate } from "./gate.js"
import { currentRun } from "./run.js"
import { Runner } from "./runner.js"

/** The server's watch over its children tells these apart from the codes of user code. */
const exitCodes = { connectionLost: 70, uncaught: 71 }

const { socketPath, workerId } = readConfig(process.env)

// An error that nobody caught ends its run and no other; without a run to blame the process is not to be trusted (W5).
function assign(thrown: unknown): void {
  const run = currentRun.getStore()
  say(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown))
  if (run === undefined) process.exit(exitCodes.uncaught)
  run.fail(thrown)
}
process.on("uncaughtException", assign)
process.on("unhandledRejection", assign)

const socket = connect(socketPath)
socket.once("connect", () => {
  const connection: Connection = new Connection(socket, {
    onFrame: (frame, payload) => runner.onFrame(frame, payload),
    onClose: (reason) => {
      say(`worker ${workerId} ends: ${reason}`)
      process.exit(exitCodes.connectionLost)
    },
  })
  const runner = new Runner(connection, new Gate({ workerSocket: socketPath, workerId }))
  connection.send({
    type: "hello",
    protocol: 1,
    worker_id: workerId,
    pid: process.pid,
    language: "javascript",
    language_version: process.version,
  })
})
socket.once("error", (error) => {
  say(`worker ${workerId} cannot reach its server: ${error.message}`)
  process.exit(exitCodes.connectionLost)
})

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
