/** A unit for an image that somebody else built: it listens where a unit listens, and the guest is all that it has behind it. */
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { isCredential, takeOwnHeaders, unitHeader } from "@superstep/protocol/http/own-headers"
import { beginRefusal } from "@superstep/protocol/http/upgraded"
import { bind } from "@superstep/toolkit/http/listen"
import { internalAnswers, reply } from "./answers.js"
import { carrierTo } from "./carry.js"
import type { CompanionConfig } from "./config.js"
import { followGuest, type HealthTimes } from "./guest-health.js"

export interface Companion {
  /** Cuts what is open. */
  stop(): Promise<void>
}

type CompanionOptions = Omit<CompanionConfig, "logLevel"> & { readonly times?: HealthTimes }

export async function startCompanion(options: CompanionOptions): Promise<Companion> {
  const { socketPath, revisionId, unitToken, port, times } = options
  const health = followGuest(port, times)
  const carrier = carrierTo({ port, revisionId })
  const answer = internalAnswers({ revisionId, health, open: carrier.open })

  const server = createServer((incoming, response) => {
    const shown = takeOwnHeaders(incoming).get(unitHeader)
    if (!isCredential(shown, unitToken.reveal()))
      return reply(response, 401, { detail: "the unit's token is required" })
    const { method = "GET", url = "/" } = incoming
    const { pathname, searchParams } = new URL(url, "http://unit")
    if (!pathname.startsWith("/internal/")) return void carrier.request(incoming, response)
    incoming.resume()
    answer({ method, path: pathname, query: searchParams, response })
  })
  server.requestTimeout = 0
  server.on("upgrade", (incoming, socket: Socket, early: Buffer) => {
    socket.on("error", () => undefined)
    const shown = takeOwnHeaders(incoming).get(unitHeader)
    if (isCredential(shown, unitToken.reveal())) return void carrier.upgrade(incoming, socket, early)
    beginRefusal(socket, 401, ["content-length", "0"]).end()
  })
  await bind(server, { socketPath })
  return {
    stop: async () => {
      health.stop()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await carrier.close()
      await closed
    },
  }
}
