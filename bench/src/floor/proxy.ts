/**
 * A bare proxy: HTTP on TCP in one process, forwarded to a Unix socket over kept-alive connections, with `node:http` only. It
 * has no routing table, no keys, no limits and no persistence. The edge is measured relative to it.
 * Started as `node floor/proxy.js <socket path>`; prints its port, and exits when its standard input closes.
 */
import { Agent, createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { pipeline } from "node:stream"

const [socketPath = ""] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })

const server = createServer((incoming, outgoing) => {
  const { method, url, headers } = incoming
  const onward = request({ socketPath, agent, method, path: url, headers }, (reply) => {
    outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
    outgoing.flushHeaders()
    pipeline(reply, outgoing, endOf)
  })
  onward.once("error", () => outgoing.destroy())
  pipeline(incoming, onward, endOf)
})

/** When one side closes, the other is closed, too. Errors are ignored here because the benchmark checks every response. */
const endOf = () => undefined

server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
process.stdin.resume().once("end", () => process.exit())
