/** An installation that answers HTTPS, with a certificate that only its operator knows. */
import assert from "node:assert/strict"
import { cpSync, readFileSync } from "node:fs"
import { request } from "node:https"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { preparedFolder } from "../testing/prepared-folder.js"
import { type Ended, interrupt, type Running, runCli, startCli, untilPrinted } from "../testing/run-cli.js"

const skip = withoutOpenssl()
const agent = fileURLToPath(new URL("../../../tests/agent", import.meta.url))
const cwd = temporaryFolder()
let up: Running | undefined
let ports: readonly [number, number]

const trusting = { NODE_EXTRA_CA_CERTS: join(cwd, "localhost.crt") }
const cli = (...args: string[]): Promise<Ended> => runCli(args, { cwd, env: trusting })
const apiKey = (folder = cwd) =>
  (JSON.parse(readFileSync(join(folder, ".superstep/credentials.json"), "utf8")) as { api_key: string }).api_key

/** As a client that trusts the operator's certificate, and no other. */
const ask = (url: string, headers: Record<string, string> = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { headers, ca: readFileSync(join(cwd, "localhost.crt")), agent: false }, (response) =>
      text(response).then(resolve, reject),
    )
    asked.once("error", reject).end()
  })

/** The files are named as a person would, from where the command is started; `up` itself gets no CA. */
async function startUp(folder: string, ...options: string[]): Promise<Running> {
  ports = [await freePort(), await freePort()]
  const args = ["up", "--port", String(ports[0]), "--agents-port", String(ports[1]), ...options]
  const env = { SUPERSTEP_TLS_CERT: "localhost.crt", SUPERSTEP_TLS_KEY: "localhost.key" }
  const running = startCli(args, { cwd: folder, env })
  await untilPrinted(running, "Data  ")
  return running
}

before(async () => {
  if (skip) return
  makeCertificate(cwd)
  cpSync(agent, join(cwd, "my-agent"), { recursive: true, filter: (path) => !path.includes("node_modules") })
  up = await startUp(await preparedFolder(cwd), "--no-example")
})
after(async () => {
  if (up) assert.equal((await interrupt(up)).code, 0)
})

test("printed and stored addresses are https, and they answer", { skip }, async () => {
  const [api, agents] = ports.map((port) => `https://127.0.0.1:${port}`)

  assert.ok(up?.lines.some((line) => line.includes(`Control plane  ${api}`)))
  assert.ok(up?.lines.some((line) => line.includes(`Agents         ${agents}/d/<name>`)))
  assert.match(await ask(`${api}/health`), /ok/)
  assert.match((await cli("doctor")).stdout, new RegExp(`the control plane answers at ${api}`))
})

test("a project is deployed, listed, read and called over HTTPS", { skip: skip || unlessWide("deploys") }, async () => {
  const deployed = await cli("deploy", "my-agent", "--json")
  assert.equal(deployed.code, 0, deployed.stderr + deployed.stdout)

  const listed = await cli("list")
  const opened = await cli("open", "my-agent", "--json")
  const read = await cli("logs", "my-agent", "--type", "build")

  const { url } = JSON.parse(opened.stdout) as { url: string }
  assert.equal(url, `https://127.0.0.1:${ports[1]}/d/my-agent`)
  assert.match(listed.stdout, /my-agent.*https:/)
  assert.equal(read.code, 0, read.stderr)
  assert.notEqual(read.stdout, "")
  assert.match(await ask(`${url}/info`, { "x-api-key": apiKey() }), /version/)
})

test("an untrusted certificate causes an error that says what to do", { skip }, async () => {
  const { code, stderr } = await runCli(["list"], { cwd })

  assert.equal(code, 1)
  assert.match(stderr, /its certificate is not trusted here\. Set NODE_EXTRA_CA_CERTS to the file of its CA/)
})
