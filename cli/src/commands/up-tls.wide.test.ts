/** An installation that answers HTTPS, with a certificate that only its operator knows. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { cpSync, readFileSync } from "node:fs"
import { request } from "node:https"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong, unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { preparedFolder } from "../testing/prepared-folder.js"
import { printedCurl } from "../testing/printed-curl.js"
import { type Ended, type Running, runCli, startCli } from "../testing/run-cli.js"

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
  const isUp = () => running.lines.some((line) => line.includes("Data  "))
  const ended = running.ended.then(({ stderr }) => assert.fail(`it ended before it was up: ${stderr}`))
  await Promise.race([until(isUp, { what: "the installation is up", timeoutMs: 60_000 }), ended])
  return running
}

const stop = async (running: Running) => {
  running.signal("SIGINT")
  assert.equal((await running.ended).code, 0)
}

before(async () => {
  if (skip) return
  makeCertificate(cwd)
  cpSync(agent, join(cwd, "my-agent"), { recursive: true, filter: (path) => !path.includes("node_modules") })
  up = await startUp(await preparedFolder(cwd), "--no-example")
})
after(() => (up ? stop(up) : undefined))

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

test("the example answers over HTTPS by the printed command", {
  skip: skip || unlessLong("takes minutes"),
}, async () => {
  const folder = temporaryFolder()
  const { certFile } = makeCertificate(folder)
  const running = await startUp(folder)
  try {
    const isOver = () => running.lines.find((line) => /Ctrl-C stops everything|FAILED|✖|!/.test(line))
    await until(isOver, { what: "the example answers", timeoutMs: 180_000 })
    const env = { ...process.env, CURL_CA_BUNDLE: certFile }

    // The last line goes to another output, and may be read first.
    const command = await until(() => printedCurl(running.lines, apiKey(folder)), { what: "the command is printed" })
    const { stdout } = await promisify(execFile)("sh", ["-c", command], { env })

    assert.match(stdout, /^event: end\ndata: .*"status":"success"/m)
  } finally {
    await stop(running)
  }
})
