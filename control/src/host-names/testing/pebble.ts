/** Pebble, the test server of Let's Encrypt, as a process, and a DNS server by which all names lead to this machine. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { get } from "node:https"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { makeCertificate } from "@superstep/toolkit/testing/certificate"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"

const program = process.env.SUPERSTEP_TEST_PEBBLE ?? ""

/** For a test's `skip`: the reason why it cannot run here, or false. */
export const withoutPebble = (): string | false =>
  program === "" && "no Pebble: .ci/run builds it and sets SUPERSTEP_TEST_PEBBLE"

export interface Pebble extends AsyncDisposable {
  readonly directoryUrl: string
  /** The certificate of its own address. */
  readonly certFile: string
  /** PEM of the CA that signs what it issues. */
  readonly caPem: string
}

/** @param httpPort  where the challenge of every name is fetched, on this machine */
export async function startPebble({ httpPort }: { httpPort: number }): Promise<Pebble> {
  const folder = temporaryFolder()
  const { certFile, keyFile } = makeCertificate(folder, "pebble")
  const [port, managementPort, dns] = [await freePort(), await freePort(), await startDns()]
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: certFile,
    privateKey: keyFile,
    httpPort,
    tlsPort: httpPort,
    keyAlgorithm: "ecdsa",
    profiles: { default: { description: "the usual one", validityPeriod: 7_776_000 } },
  }
  const configFile = join(folder, "pebble.json")
  writeFileSync(configFile, JSON.stringify({ pebble: config }))
  const child = spawn(program, ["-config", configFile, "-dnsserver", `127.0.0.1:${dns.port}`, "-strict"], {
    env: { PEBBLE_VA_NOSLEEP: "1", PATH: process.env.PATH ?? "" },
    stdio: "ignore",
  })
  const exited = once(child, "exit")
  const fetchText = (url: string) =>
    new Promise<string>((resolve, reject) => {
      get(url, { rejectUnauthorized: false }, (response) => resolve(text(response))).once("error", reject)
    })
  const caPem = await until(() => fetchText(`https://127.0.0.1:${managementPort}/roots/0`).catch(() => undefined), {
    what: "Pebble answers",
  })
  return {
    directoryUrl: `https://127.0.0.1:${port}/dir`,
    certFile,
    caPem,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await exited
      dns.server.close()
    },
  }
}

const typeA = 1

/** Answers each question for an IPv4 address with 127.0.0.1, and others with nothing (RFC 1035 §4), by TCP, as Pebble asks. */
async function startDns() {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy())
    // A question is so short that it arrives in one piece, after two bytes with its length.
    socket.on("data", (message) => {
      const answer = answerTo(message.subarray(2))
      socket.write(Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 0xff]), answer]))
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return { server, port: (server.address() as AddressInfo).port }
}

function answerTo(query: Buffer): Buffer {
  // A header of twelve bytes, then the question: the name, ended by a zero, its type and its class.
  const end = query.indexOf(0, 12) + 5
  const question = query.subarray(12, end)
  const isAddress = question.readUInt16BE(question.length - 4) === typeA
  const header = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0])
  // The name as a pointer to the question, type A, class IN, ten seconds to live, four bytes.
  const answer = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 10, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([header, question, ...(isAddress ? [answer] : [])])
}
