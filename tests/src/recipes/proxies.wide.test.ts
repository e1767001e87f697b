/** nginx and Caddy in front of a platform: the console, a large upload, streams as they come, clients that leave, and WebSockets. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { cp, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { json, text } from "node:stream/consumers"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { preparedFolder } from "superstep/testing/prepared-folder"
import { interrupt, runCli, startCli, untilPrinted } from "superstep/testing/run-cli"
import { WebSocket } from "ws"
import { recipe } from "../testing/recipes.js"
import {
  type ReverseProxy,
  sendTo,
  startCaddy,
  startNginx,
  withoutCaddy,
  withoutNginx,
} from "../testing/reverse-proxies.js"

const chat = fileURLToPath(new URL("../../../examples/chat", import.meta.url))
const ourPackages = fileURLToPath(new URL("../../../node_modules", import.meta.url))
// More than the body of any other request may have.
const largeBytes = 27_000_000

const proxies = [
  { name: "nginx", start: startNginx, file: recipe("nginx/superstep.conf"), skip: withoutNginx },
  { name: "Caddy", start: startCaddy, file: recipe("caddy/Caddyfile"), skip: withoutCaddy },
]

// One of them, to save time: only nginx has a limit for what is uploaded.
const deploying = proxies.find(({ skip }) => !skip)?.name

/** `superstep up` with the settings of the page. Both proxies use the same port, one after the other. */
async function startUp(publicPort: number) {
  const cwd = await preparedFolder()
  const [port, agentsPort] = [await freePort(), await freePort()]
  const running = startCli(["up", "--port", `${port}`, "--agents-port", `${agentsPort}`, "--no-example"], {
    cwd,
    env: {
      SUPERSTEP_PUBLIC_URL: `https://localhost:${publicPort}`,
      SUPERSTEP_AGENTS_URL: `https://127.0.0.1:${publicPort}`,
      SUPERSTEP_TRUSTED_PROXIES: "127.0.0.1",
      SUPERSTEP_WORKERS: "1",
    },
  })
  await untilPrinted(running, "Data  ")
  const stop = async () => void (await interrupt(running))
  const place = { api: `127.0.0.1:${port}`, agents: `127.0.0.1:${agentsPort}` }
  return { cwd, place, [Symbol.asyncDispose]: stop }
}

/** The example agent, which says a word each 0.3 s. */
async function projectWithLargeFile(): Promise<string> {
  const folder = temporaryFolder()
  await cp(chat, folder, { recursive: true, filter: (path) => !path.includes("node_modules") })
  await writeFile(join(folder, "large"), randomBytes(largeBytes))
  await writeFile(join(folder, "secrets"), "CHAT_PAUSE_MS=300\n")
  return folder
}

const hello = { assistant_id: "chat", input: { messages: [{ role: "user", content: "Hello" }] } }

test("a proxy in front of the platform", { skip: withoutNginx && withoutCaddy }, async (t) => {
  const port = await freePort()
  await using up = await startUp(port)
  const { api_key: key } = JSON.parse(readFileSync(join(up.cwd, ".superstep/credentials.json"), "utf8"))
  const superstep = async (proxy: ReverseProxy, ...args: string[]) => {
    const { code, stdout, stderr } = await runCli(args, { cwd: up.cwd, env: { NODE_EXTRA_CA_CERTS: proxy.caFile } })
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }

  for (const { name, start, file, skip } of proxies) {
    await t.test(name, { skip }, async (t) => {
      await using proxy = await start({ file, port, ...up.place })
      const agent = `${proxy.agentsUrl}/d/chat`
      const send = (method: string, path: string, body?: object) =>
        sendTo(proxy, `${agent}${path}`, { method, headers: { "x-api-key": key }, ...(body && { body }) })
      const newThread = async () =>
        ((await json((await send("POST", "/threads", {})).body)) as { thread_id: string }).thread_id

      await t.test("the console signs in, and its cookie is only for TLS", async () => {
        const address = new URL(await superstep(proxy, "console"))
        const code = new URLSearchParams(address.hash.slice(1)).get("code")
        const url = `${proxy.apiUrl}/v2/console/sessions`
        const headers = { origin: proxy.apiUrl }
        const {
          status,
          headers: answered,
          body,
        } = await sendTo(proxy, url, { method: "POST", headers, body: { code } })

        assert.equal(address.origin, proxy.apiUrl)
        assert.equal(status, 201, await text(body))
        assert.match(String(answered["set-cookie"]), /; Secure/)
      })

      await t.test(
        "a project larger than other requests is deployed, and answers at the public address",
        {
          skip: name !== deploying && "deployed through the other proxy",
        },
        async () => {
          const folder = await projectWithLargeFile()
          const secrets = ["--env-file", join(folder, "secrets")]
          const install = ["--install-command", `ln -s '${ourPackages}' node_modules`]

          assert.equal(await superstep(proxy, "deploy", folder, "--name", "chat", ...secrets, ...install), agent)
        },
      )

      await t.test("a stream comes as it is sent", async () => {
        const { status, body } = await send("POST", "/runs/stream", { ...hello, stream_mode: "messages-tuple" })
        const chunks: string[] = []
        for await (const chunk of body) chunks.push(String(chunk))

        assert.equal(status, 200, chunks.join(""))
        assert.ok(chunks.length > 8, `${chunks.length} chunks`)
        assert.match(chunks.join(""), /event: end/)
      })

      await t.test("a client that leaves cancels its run", async () => {
        const threadId = await newThread()
        const asked = { ...hello, stream_mode: "messages-tuple", on_disconnect: "cancel" }
        const { body } = await send("POST", `/threads/${threadId}/runs/stream`, asked)
        await once(body, "data")
        body.on("error", () => undefined).destroy()

        const statuses = async () => {
          const runs = (await json((await send("GET", `/threads/${threadId}/runs`)).body)) as { status: string }[]
          return runs.map(({ status }) => status).join()
        }
        await until(async () => (await statuses()) !== "running", { what: "the run ends" })
        assert.equal(await statuses(), "interrupted")
      })

      await t.test("a WebSocket opens and answers", async () => {
        const address = `${agent.replace("https", "wss")}/threads/${await newThread()}/stream/events`
        const socket = new WebSocket(address, { ca: readFileSync(proxy.caFile), headers: { "x-api-key": key } })
        await once(socket, "open")
        socket.send(JSON.stringify({ id: 1, method: "unknown", params: {} }))
        const [answer] = await once(socket, "message")
        socket.terminate()

        assert.equal(JSON.parse(String(answer)).id, 1)
      })
    })
  }
})
