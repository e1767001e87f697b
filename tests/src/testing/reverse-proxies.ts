/** The recipes for nginx and Caddy, running: with names, ports and a certificate of this machine. The API is at `localhost`, agents are at 127.0.0.1. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { type RequestOptions, request } from "node:https"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { changedRecipe } from "./recipes.js"

export interface ReverseProxy extends AsyncDisposable {
  readonly apiUrl: string
  readonly agentsUrl: string
  /** The file of the CA that callers trust. */
  readonly caFile: string
}

export interface ProxyPlace {
  /** Of the recipe, or a changed copy of it. */
  readonly file: string
  readonly port: number
  /** Host and port of the API and of the agents. */
  readonly api: string
  readonly agents: string
}

const found = (name: string) => ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map((at) => join(at, name)).find(existsSync)
const [nginx, caddy] = [found("nginx"), found("caddy")]

/** For the option `skip` of a test. */
export const withoutNginx = nginx === undefined ? "there is no nginx" : withoutOpenssl()
export const withoutCaddy = caddy === undefined ? "there is no caddy" : false

const namesOf = ({ api, agents }: ProxyPlace) => ({
  "127.0.0.1:8900": api,
  "127.0.0.1:8901": agents,
})

/** The recipe is a part of nginx' own file, as below /etc/nginx/conf.d. */
export async function startNginx(place: ProxyPlace, changes: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder()
  const { certFile, keyFile } = makeCertificate(folder)
  const text = changedRecipe(place.file, {
    ...namesOf(place),
    "listen 443 ssl": `listen 127.0.0.1:${place.port} ssl`,
    "superstep.example.org": "localhost",
    "agents.example.org": "127.0.0.1",
    "/etc/letsencrypt/live/example.org/fullchain.pem": certFile,
    "/etc/letsencrypt/live/example.org/privkey.pem": keyFile,
    ...changes,
  })
  writeFileSync(join(folder, "superstep.conf"), text)
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
    .join(" ")
  const main = join(folder, "nginx.conf")
  writeFileSync(
    main,
    `daemon off; pid ${join(folder, "pid")}; error_log ${join(folder, "error.log")}; events {}
     http { access_log off; ${temporary} include ${join(folder, "superstep.conf")}; }`,
  )
  return start([nginx ?? "", "-c", main, "-e", join(folder, "error.log")], { place, folder, caFile: certFile })
}

/** For names of this machine Caddy is its own authority; it must not become one of the whole machine. */
export async function startCaddy(place: ProxyPlace) {
  const folder = temporaryFolder()
  const text = changedRecipe(place.file, {
    ...namesOf(place),
    "superstep.example.org": `https://localhost:${place.port}`,
    "agents.example.org": `https://127.0.0.1:${place.port}`,
  })
  const options = ["admin off", "skip_install_trust", "auto_https disable_redirects", "default_bind 127.0.0.1"]
  writeFileSync(join(folder, "Caddyfile"), `{\n${options.map((line) => `\t${line}\n`).join("")}}\n${text}`)
  const caFile = join(folder, "caddy/pki/authorities/local/root.crt")
  const argv = [caddy ?? "", "run", "--config", join(folder, "Caddyfile")]
  return start(argv, { place, folder, caFile })
}

async function start(
  [program = "", ...args]: readonly string[],
  { place, folder, caFile }: { place: ProxyPlace; folder: string; caFile: string },
): Promise<ReverseProxy> {
  const env = { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], env })
  let printed = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text))
  const exited = once(child, "exit")
  const [apiUrl, agentsUrl] = [`https://localhost:${place.port}`, `https://127.0.0.1:${place.port}`]
  const answers = async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}: ${printed}`)
    // Before it listens, and before Caddy has made its certificate.
    const reply = await sendTo({ caFile }, agentsUrl, {}).catch(() => undefined)
    reply?.body.resume()
    return reply !== undefined
  }
  await until(answers, { what: `${program} answers`, timeoutMs: 30_000 })
  const stop = async () => {
    child.kill("SIGTERM")
    await exited
  }
  return { apiUrl, agentsUrl, caFile, [Symbol.asyncDispose]: stop }
}

export interface ProxyReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Destroying it closes the connection. */
  readonly body: Readable
}

/** Sends a request as a client that trusts the proxy's certificate. Resolves with the head of the answer. */
export function sendTo(
  { caFile }: Pick<ReverseProxy, "caFile">,
  url: string,
  { body, ...options }: RequestOptions & { body?: object },
): Promise<ProxyReply> {
  const headers = { "content-type": "application/json", ...options.headers }
  return new Promise((resolve, reject) => {
    const ca = existsSync(caFile) ? readFileSync(caFile) : undefined
    const asked = request(url, { ...options, headers, ca, agent: false }, (response) =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response }),
    )
    asked.once("error", reject)
    asked.end(body && JSON.stringify(body))
  })
}
