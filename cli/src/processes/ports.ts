/** Checks that a port is free before anything is started, so that the error is one clear message. */
import { createServer } from "node:net"
import { KnownError } from "@superstep/toolkit/errors/errors"

class PortInUse extends KnownError {
  readonly code = "port_in_use"
}

/**
 * @param option  the option that chooses another: `--port`
 * @throws PortInUse  when another program uses it, or when it may not be used
 */
export async function assertPortFree({
  host,
  port,
  option,
}: {
  host: string
  port: number
  option: string
}): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new PortInUse(sentence(error.code, { host, port, option }))),
    )
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()))
  })
}

function sentence(
  code: string | undefined,
  { host, port, option }: { host: string; port: number; option: string },
): string {
  if (code === "EADDRINUSE") return `port ${port} is in use: choose another with ${option}`
  if (code === "EACCES") return `this user may not listen on port ${port}: choose one above 1023 with ${option}`
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `${host} is not an address of this machine: choose another with --host`
  return `cannot listen on ${host}:${port} (${code}): choose another with ${option}`
}
