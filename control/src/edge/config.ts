/** Settings of the edge. `client.ts` sets them for an edge that the control plane starts. */
import { BlockList, isIP, isIPv6 } from "node:net"
import { logLevel } from "@superstep/toolkit/config/log-level"
import { readSettings, Secret, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { z } from "zod"
import { plainAddress } from "./headers.js"

const wholeNumber = (fallback: number) =>
  z.string().regex(/^\d+$/, "expected a whole number").transform(Number).default(fallback)

const path = z.string("expected a path").startsWith("/", "expected an absolute path")

/** A list of addresses and networks, by comma. */
export const networks = z
  .string()
  .default("")
  .transform((text, context) => {
    const list = new BlockList()
    for (const entry of text.split(",").map((part) => part.trim())) {
      if (entry !== "" && !addNetwork(list, entry)) {
        context.addIssue({ code: "custom", message: `${entry} is no address or network such as 10.0.0.0/8` })
      }
    }
    return list
  })

function addNetwork(list: BlockList, entry: string): boolean {
  const [address = "", bits] = entry.split("/")
  const version = isIP(address)
  const widest = version === 6 ? 128 : 32
  if (version === 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= widest))) return false
  list.addSubnet(address, Number(bits ?? widest), version === 6 ? "ipv6" : "ipv4")
  return true
}

export const settings = {
  command: {
    env: "SUPERSTEP_EDGE_COMMAND",
    describe: "A name for all that it was started with, which it tells again when asked for its status.",
    schema: z.string().default(""),
  },
  adminSocket: {
    env: "SUPERSTEP_EDGE_ADMIN",
    describe: "Path of the Unix socket over which the control plane sends the table.",
    schema: path,
  },
  token: {
    env: "SUPERSTEP_EDGE_TOKEN",
    describe: "Secret that the control plane shows on the admin socket, and the edge on the wake socket.",
    schema: z
      .string("expected a secret")
      .min(32, "expected at least 32 characters")
      .transform((text) => new Secret(text)),
  },
  successorFile: {
    env: "SUPERSTEP_EDGE_SUCCESSOR",
    describe: "Path of the file in which the control plane writes how the next edge is started.",
    schema: path,
  },
  tablePath: {
    env: "SUPERSTEP_EDGE_TABLE",
    describe: "Path of the file that keeps the last table over a restart.",
    schema: path,
  },
  trustedProxies: {
    env: "SUPERSTEP_TRUSTED_PROXIES",
    describe: "Addresses or networks, by comma, of reverse proxies in front whose X-Forwarded headers are believed.",
    schema: networks,
  },
  maxBodyBytes: {
    env: "SUPERSTEP_EDGE_MAX_BODY_BYTES",
    describe: "Largest request body in bytes.",
    schema: wholeNumber(25 * 1024 * 1024),
  },
  wakeSocket: {
    env: "SUPERSTEP_EDGE_WAKE",
    describe: "Path of the Unix socket where the control plane hears that a sleeping deployment is needed.",
    schema: path,
  },
  holdSeconds: {
    env: "SUPERSTEP_EDGE_HOLD_SECONDS",
    describe: "How long a request waits for a deployment that sleeps, in seconds.",
    schema: wholeNumber(60),
  },
  mostHeld: {
    env: "SUPERSTEP_EDGE_MOST_HELD",
    describe: "How many requests may wait for deployments that sleep.",
    schema: wholeNumber(1000),
  },
  mostHeldEach: {
    env: "SUPERSTEP_EDGE_MOST_HELD_EACH",
    describe: "How many of them for one deployment.",
    schema: wholeNumber(200),
  },
  tlsCert: {
    env: "SUPERSTEP_TLS_CERT",
    describe: "PEM file of the certificate with which agents answer HTTPS; with `SUPERSTEP_TLS_KEY`.",
    schema: path.optional(),
  },
  tlsKey: { env: "SUPERSTEP_TLS_KEY", describe: "PEM file of that certificate's key.", schema: path.optional() },
  graceSeconds: {
    env: "SUPERSTEP_EDGE_GRACE_SECONDS",
    describe: "How long open requests and streams may go on after a stop signal, in seconds.",
    schema: wholeNumber(10),
  },
  logLevel,
} satisfies Settings

export type Config = Values<typeof settings>

/** @throws InvalidSettings  naming every problem */
export const readConfig = (): Config => readSettings(settings, process.env)

/** Tells whether an address is that of a trusted proxy. */
export function isTrusted(proxies: BlockList, address: string): boolean {
  const plain = plainAddress(address)
  return isIP(plain) !== 0 && proxies.check(plain, isIPv6(plain) ? "ipv6" : "ipv4")
}
