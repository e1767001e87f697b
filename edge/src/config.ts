/** Settings of the edge. `client.ts` sets them for an edge that the control plane starts. */
import { type Address, isAddress, unixPathOf } from "@superstep/protocol/http/address"
import { logLevel } from "@superstep/toolkit/config/log-level"
import { readSettings, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { flag, secret, wholeNumber } from "@superstep/toolkit/config/texts"
import { networks } from "@superstep/toolkit/http/trusted-proxies"
import { z } from "zod"

const path = z.string("expected a path").startsWith("/", "expected an absolute path")

const address = z
  .string("expected an address")
  .refine(isAddress, "expected unix:<path> or http://<host>:<port>")
  .transform((text) => text as Address)

const tcpAddress = z
  .string("expected an address")
  .refine((text) => isAddress(text) && unixPathOf(text) === undefined, "expected http://<host>:<port>")
  .transform((text) => text as Address)

export const settings = {
  command: {
    env: "SUPERSTEP_EDGE_COMMAND",
    describe: "Identifier of the settings that the edge was started with, which it reports in its status.",
    schema: z.string().default(""),
  },
  listenAddress: {
    env: "SUPERSTEP_EDGE_LISTEN",
    describe:
      "Where an edge that is one of several listens for callers, `http://<host>:<port>`; by default on the socket that its starter passes as descriptor 3.",
    schema: tcpAddress.optional(),
  },
  adminAddress: {
    env: "SUPERSTEP_EDGE_ADMIN",
    describe:
      "Where the edge listens for the control plane, which sends it the table: `unix:<path>` or `http://<host>:<port>`.",
    schema: address,
  },
  token: {
    env: "SUPERSTEP_EDGE_TOKEN",
    describe: "Secret that the control plane sends on the admin socket, and the edge on the wake socket.",
    schema: secret(z.string("expected a secret").min(32, "expected at least 32 characters")),
  },
  successorFile: {
    env: "SUPERSTEP_EDGE_SUCCESSOR",
    describe:
      "Path of the file in which the control plane stores the command that starts the next edge. An edge that is one of several has none.",
    schema: path.optional(),
  },
  tablePath: {
    env: "SUPERSTEP_EDGE_TABLE",
    describe: "Path of the file that stores the last table for a restart.",
    schema: path,
  },
  trustedProxies: {
    env: "SUPERSTEP_TRUSTED_PROXIES",
    describe: "Addresses or networks of reverse proxies whose X-Forwarded headers are trusted, separated by commas.",
    schema: networks,
  },
  maxBodyBytes: {
    env: "SUPERSTEP_EDGE_MAX_BODY_BYTES",
    describe: "Largest request body in bytes.",
    schema: wholeNumber().default(25 * 1024 * 1024),
  },
  wakeAddress: {
    env: "SUPERSTEP_EDGE_WAKE",
    describe: "Where the control plane takes requests to wake a deployment: `unix:<path>` or `http://<host>:<port>`.",
    schema: address,
  },
  holdSeconds: {
    env: "SUPERSTEP_EDGE_HOLD_SECONDS",
    describe: "How long a request waits for a sleeping deployment, in seconds.",
    schema: wholeNumber().default(60),
  },
  mostHeld: {
    env: "SUPERSTEP_EDGE_MOST_HELD",
    describe: "How many requests may wait for sleeping deployments.",
    schema: wholeNumber().default(1000),
  },
  mostHeldEach: {
    env: "SUPERSTEP_EDGE_MOST_HELD_EACH",
    describe: "How many of them for one deployment.",
    schema: wholeNumber().default(200),
  },
  tlsCert: {
    env: "SUPERSTEP_TLS_CERT",
    describe: "PEM file of the certificate for HTTPS; requires `SUPERSTEP_TLS_KEY`.",
    schema: path.optional(),
  },
  tlsKey: { env: "SUPERSTEP_TLS_KEY", describe: "PEM file of that certificate's key.", schema: path.optional() },
  certificatesFolder: {
    env: "SUPERSTEP_EDGE_CERTIFICATES",
    describe: "Folder in which the control plane puts the certificates of host names.",
    schema: path.optional(),
  },
  hasPlainSocket: {
    env: "SUPERSTEP_EDGE_PLAIN",
    describe: "1: descriptor 4 is a socket for plain HTTP, for certificate authorities and redirects.",
    ...flag(false),
  },
  graceSeconds: {
    env: "SUPERSTEP_EDGE_GRACE_SECONDS",
    describe: "How long open requests and streams may continue after a stop signal, in seconds.",
    schema: wholeNumber().default(10),
  },
  logLevel,
} satisfies Settings

export type Config = Values<typeof settings>

/** @throws InvalidSettings  naming every problem */
export const readConfig = (): Config => readSettings(settings, process.env)
