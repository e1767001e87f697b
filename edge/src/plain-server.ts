/**
 * What the edge answers by plain HTTP about host names: challenges of a certificate authority on every port, and while it
 * speaks HTTPS, a server on a port of its own that does that and nothing else.
 */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http"
import { limitFirstRequests } from "@superstep/toolkit/http/first-requests"
import { refuseUnreadable } from "@superstep/toolkit/http/refuse-unreadable"
import { type Edge, maxHeaderBytes } from "./edge.js"
import { requestIdOf } from "./headers.js"
import { httpsRequired, noSuchPath, notReachable } from "./refusal.js"
import { refuse } from "./replies.js"
import { hostOf, originForm, withoutQuery } from "./target.js"

const challengePath = "/.well-known/acme-challenge/"

/**
 * Answers a request that may be an authority's: at a host name of a deployment these paths are never the agent's, which
 * could get certificates otherwise.
 * @returns  false for every other request
 */
export function answerChallenge(edge: Edge, request: IncomingMessage, response: ServerResponse): boolean {
  const { url = "/", headers } = request
  const path = withoutQuery(originForm(url))
  const host = hostOf(url, headers.host)
  if (!path.startsWith(challengePath) || !edge.table.isOwnHost(host)) return false
  const answer = edge.table.challengeAnswer(host, path.slice(challengePath.length))
  const requestId = requestIdOf(request.headersDistinct, randomUUID)
  if (answer === undefined) refuse(request, response, noSuchPath(path), requestId)
  else response.writeHead(200, { "content-type": "text/plain", "x-request-id": requestId }).end(answer)
  return true
}

export function createPlainServer(edge: Edge, options: ServerOptions): Server {
  const server = createServer(options)
  limitFirstRequests({ accepting: server, answering: [server] })
  server.on("clientError", refuseUnreadable(maxHeaderBytes / 1024))
  server.on("request", (request, response) => {
    if (!answerChallenge(edge, request, response)) redirect(edge, request, response)
  })
  return server
}

/**
 * Pages are redirected. A request with a key is refused: it was sent in clear text already, and whoever sends it should
 * notice.
 */
function redirect(edge: Edge, request: IncomingMessage, response: ServerResponse): void {
  const { url = "/", method, headers } = request
  const host = hostOf(url, headers.host)
  const requestId = requestIdOf(request.headersDistinct, randomUUID)
  const isPage = (method === "GET" || method === "HEAD") && headers["x-api-key"] === undefined
  if (!edge.table.findByHost(host)) refuse(request, response, notReachable(url), requestId)
  else if (!isPage) refuse(request, response, httpsRequired(host), requestId)
  else {
    const path = originForm(url)
    const location = `https://${host}${path.startsWith("/") ? path : "/"}`
    response.writeHead(308, { location, "content-length": "0", "x-request-id": requestId }).end()
  }
}
