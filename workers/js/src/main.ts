/**
 * A worker process: connects to its server, loads the graphs of the `load` frame, executes runs. It exits when the socket
 * closes (with 0 after `stop`), or with another code when user code calls `process.exit` or throws outside of every run.
 */
import { connect } from "node:net"
import { readConfig } from "./config.js"
import { Connection } from "./connection/connection.js"
import { errorText } from "./errors/describe-error.js"
import { exitCodes } from "./exit-codes.js"
import { Gate } from "./gate/gate.js"
import { currentRun } from "./runs/run.js"
import { markOutput } from "./runs/run-output.js"
import { Runner } from "./runs/runner.js"
import { offerSdkLogger } from "./runs/sdk-logger.js"

const { socketPath, workerId, title } = readConfig(process.env)
if (title !== undefined) process.title = title
markOutput()
offerSdkLogger()

// An uncaught error ends only its own run. If its run is unknown, the process cannot be trusted and exits (W5).
function assign(thrown: unknown): void {
  const run = currentRun.getStore()
  say(errorText(thrown))
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
      say(`worker ${workerId} exits: ${reason}`)
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
