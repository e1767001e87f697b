/** An nginx with its default settings in front of one address, except for a shorter time after which it closes a silent connection. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"

const program = ["/usr/sbin/nginx", "/usr/bin/nginx"].find((path) => existsSync(path))

/** For the option `skip` of a test. */
export const withoutNginx = program === undefined ? "there is no nginx" : false

export interface Nginx extends AsyncDisposable {
  readonly url: string
}

/** @param silentSeconds  after how much silence it closes a connection; 60 by default in nginx */
export async function startNginx(target: string, { silentSeconds }: { silentSeconds: number }): Promise<Nginx> {
  const folder = temporaryFolder()
  const port = await freePort()
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
    .join(" ")
  const file = join(folder, "nginx.conf")
  writeFileSync(
    file,
    `daemon off; pid ${join(folder, "pid")}; error_log ${join(folder, "error.log")}; events {}
     http { access_log off; ${temporary} server { listen 127.0.0.1:${port};
       location / { proxy_pass ${target}; proxy_http_version 1.1; proxy_read_timeout ${silentSeconds}s; } } }`,
  )
  const child = spawn(program ?? "", ["-c", file, "-e", join(folder, "error.log")], { stdio: "ignore" })
  const exited = once(child, "exit")
  const url = `http://127.0.0.1:${port}`
  const answers = async () => (await fetch(url).catch(() => undefined)) !== undefined
  await until(answers, { what: "nginx answers", timeoutMs: 30_000 })
  const stop = async () => {
    child.kill("SIGTERM")
    await exited
  }
  return { url, [Symbol.asyncDispose]: stop }
}
