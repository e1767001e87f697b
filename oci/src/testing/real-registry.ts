/** Debian's `docker-registry`, with its store in a temporary folder. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createWriteStream, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { join } from "node:path"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { resetSocket } from "@superstep/toolkit/testing/reset-socket"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"

const program = "docker-registry"

export const hasRegistry = (): boolean => spawnSync(program, ["--version"]).status === 0

// The registry accepts bcrypt only; of the password "wonderful".
const passwords = "robot:$2b$05$SvilAHk12TnaIrxmHVfd1uyo4K/ZmYtSUgfq7IjRWhe3/cdV4s8WC\n"

/** @param hasPasswords  whether it asks for `robot` and `wonderful` @param deletes  false as by default: it refuses to delete images */
export async function realRegistry({ hasPasswords = false, deletes = true } = {}) {
  const folder = temporaryFolder()
  const port = await freePort()
  writeFileSync(join(folder, "passwords"), passwords)
  const config = {
    version: 0.1,
    log: { level: "error" },
    storage: { filesystem: { rootdirectory: join(folder, "store") }, delete: { enabled: deletes } },
    http: { addr: `127.0.0.1:${port}`, secret: "of a test" },
    ...(hasPasswords && { auth: { htpasswd: { realm: "test", path: join(folder, "passwords") } } }),
  }
  // JSON is YAML.
  writeFileSync(join(folder, "config.yml"), JSON.stringify(config))
  const child = spawn(program, ["serve", join(folder, "config.yml")], { stdio: ["ignore", "pipe", "pipe"] })
  const output = createWriteStream(join(folder, "output.log"))
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false })
  const origin = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(`${origin}/v2/`).then(
      ({ status }) => status === 200 || status === 401,
      () => false,
    )
  await until(answers, { what: "the registry answers" })
  return {
    origin,
    port,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await once(child, "exit")
      output.end()
    },
  }
}

/** A connection to a registry that breaks off once: before or within the chunk with this number, from 1. */
export async function breakingProxy(port: number, chunk: number, where: "before" | "within") {
  let [chunks, within, hasBroken] = [0, 0, false]
  const breaksAt = (bytes: Buffer): boolean => {
    if (bytes.subarray(0, 6).toString() === "PATCH ") chunks += 1
    if (chunks < chunk || hasBroken) return false
    within += bytes.length
    return where === "before" || within > 100 * 1024
  }
  const server = createServer((client) => {
    const target = connect(port, "127.0.0.1")
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.end())
    client.on("data", (bytes: Buffer) => {
      const breaks = breaksAt(bytes)
      hasBroken ||= breaks
      if (!breaks) return void target.write(bytes)
      // What was sent before arrives whole.
      if (where === "within") target.end(bytes)
      resetSocket(client)
    })
    target.pipe(client)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    hasBroken: () => hasBroken,
    [Symbol.dispose]: () => void server.close(),
  }
}
