/**
 * A small certificate authority for tests, which speaks ACME (RFC 8555): it verifies each request's signature and nonce,
 * fetches the challenge from the name, and signs requests with a CA of its own. Long on purpose: one protocol.
 */
import {
  createHash,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  randomUUID,
  verify,
  webcrypto,
} from "node:crypto"
import { once } from "node:events"
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import * as x509 from "@peculiar/x509"

/** Describes why the authority refuses something; its type below `urn:ietf:params:acme:error:`. */
export interface AcmeProblem {
  readonly type: string
  readonly detail: string
  readonly status?: number
}

export interface TestAuthority extends AsyncDisposable {
  readonly directoryUrl: string
  /** PEM of the CA's own certificate. */
  readonly caPem: string
  /** Names of orders, in their order; a refused one too. */
  readonly orders: readonly string[]
  readonly accounts: readonly { readonly contact: readonly string[] }[]
  /** Refuses orders while it returns a problem. */
  refusal: (name: string) => AcmeProblem | undefined
  /** How long new certificates are valid, in milliseconds. */
  validMs: number
  /** Challenges are verified once it is fulfilled. */
  patience: Promise<unknown>
}

interface Resource {
  readonly id: string
  /** What the authority returns of it. */
  readonly body: Record<string, unknown>
}

interface Order extends Resource {
  readonly name: string
  readonly authorization: Authorization
  certificate?: string
}

interface Authorization extends Resource {
  readonly name: string
  readonly token: string
  readonly thumbprint: string
  readonly challenge: Record<string, unknown>
}

interface Account extends Resource {
  readonly key: KeyObject
  readonly thumbprint: string
  contact: string[]
}

/** @param httpPort  where the challenge of every name is fetched, on this machine */
export async function startTestAuthority({ httpPort }: { httpPort: number }): Promise<TestAuthority> {
  const ca = await createCa()
  const nonces = new Set<string>()
  const accounts: Account[] = []
  const orders: Order[] = []
  const asked: string[] = []
  let base = ""

  const newNonce = (): string => {
    const nonce = randomBytes(16).toString("base64url")
    nonces.add(nonce)
    return nonce
  }
  const reply = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "replay-nonce": newNonce(), "content-type": "application/json", ...headers })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  }

  const signed = async (
    request: IncomingMessage,
  ): Promise<{ account: Account | undefined; jwk: JsonWebKey; payload: string }> => {
    const jws = JSON.parse(await text(request))
    const header = JSON.parse(Buffer.from(jws.protected, "base64url").toString())
    if (!nonces.delete(header.nonce)) throw refused({ type: "badNonce", detail: "unknown nonce" })
    if (header.url !== `${base}${request.url}`)
      throw refused({ type: "unauthorized", detail: "signed for another URL" })
    const account = accounts.find(({ id }) => header.kid === `${base}/account/${id}`)
    if (!account && !header.jwk) throw refused({ type: "accountDoesNotExist", detail: "unknown account" })
    const key = account?.key ?? createPublicKey({ key: header.jwk, format: "jwk" })
    const content = Buffer.from(`${jws.protected}.${jws.payload}`)
    const signature = Buffer.from(jws.signature, "base64url")
    if (header.alg !== "ES256" || !verify("sha256", content, { key, dsaEncoding: "ieee-p1363" }, signature)) {
      throw refused({ type: "malformed", detail: "the signature is wrong" })
    }
    return { account, jwk: header.jwk, payload: Buffer.from(jws.payload, "base64url").toString() }
  }

  const authority: TestAuthority = {
    get directoryUrl() {
      return `${base}/directory`
    },
    caPem: ca.certificate.toString("pem"),
    orders: asked,
    accounts,
    refusal: () => undefined,
    validMs: 90 * 24 * 3_600_000,
    patience: Promise.resolve(),
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
    },
  }

  const newAccount = (jwk: JsonWebKey, payload: string): { account: Account; isNew: boolean } => {
    const { contact = [], termsOfServiceAgreed } = JSON.parse(payload)
    const thumbprint = thumbprintOf(jwk)
    const known = accounts.find((it) => it.thumbprint === thumbprint)
    if (known) return { account: known, isNew: false }
    if (termsOfServiceAgreed !== true) throw refused({ type: "userActionRequired", detail: "agree to the terms" })
    const key = createPublicKey({ key: jwk, format: "jwk" })
    const account = { id: randomUUID(), body: { status: "valid", contact }, key, thumbprint, contact }
    accounts.push(account)
    return { account, isNew: true }
  }

  const newOrder = (account: Account, payload: string): Order => {
    const { identifiers } = JSON.parse(payload)
    const name: string = identifiers[0].value
    asked.push(name)
    const problem = authority.refusal(name)
    if (problem) throw refused(problem)
    const id = randomUUID()
    const token = randomBytes(24).toString("base64url")
    const challenge = { type: "http-01", status: "pending", url: `${base}/challenge/${id}`, token }
    const authorization: Authorization = {
      id,
      name,
      token,
      thumbprint: account.thumbprint,
      challenge,
      body: { status: "pending", identifier: identifiers[0], challenges: [challenge] },
    }
    const order: Order = {
      id,
      name,
      authorization,
      body: {
        status: "pending",
        identifiers,
        authorizations: [`${base}/authorization/${id}`],
        finalize: `${base}/finalize/${id}`,
      },
    }
    orders.push(order)
    return order
  }

  const check = async ({ authorization, name, body }: Order): Promise<void> => {
    const { token, thumbprint, challenge } = authorization
    await authority.patience
    const failure = await challengeFailure({ httpPort, name, token, expected: `${token}.${thumbprint}` })
    const status = failure === undefined ? "valid" : "invalid"
    if (failure !== undefined) challenge.error = { type: "urn:ietf:params:acme:error:unauthorized", detail: failure }
    challenge.status = status
    authorization.body.status = status
    body.status = failure === undefined ? "ready" : "invalid"
  }

  const finalize = async (order: Order, payload: string): Promise<void> => {
    if (order.body.status !== "ready") throw refused({ type: "orderNotReady", detail: "the name is not verified" })
    const { csr } = JSON.parse(payload)
    order.certificate = `${await ca.sign(Buffer.from(csr, "base64url"), order.name, authority.validMs)}\n${authority.caPem}`
    Object.assign(order.body, { status: "valid", certificate: `${base}/certificate/${order.id}` })
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, kind = "", id = ""] = (request.url ?? "").split("/")
    if (kind === "directory") return reply(response, 200, directoryAt(base))
    if (kind === "nonce") return reply(response, 200, "")
    const { account, jwk, payload } = await signed(request)
    if (kind === "new-account") {
      const { account: it, isNew } = newAccount(jwk, payload)
      return reply(response, isNew ? 201 : 200, it.body, { location: `${base}/account/${it.id}` })
    }
    if (!account) throw refused({ type: "accountDoesNotExist", detail: "unknown account" })
    if (kind === "account") {
      account.contact = JSON.parse(payload).contact ?? account.contact
      return reply(response, 200, account.body)
    }
    if (kind === "new-order") {
      const order = newOrder(account, payload)
      return reply(response, 201, order.body, { location: `${base}/order/${order.id}` })
    }
    const order = orders.find((it) => it.id === id)
    if (!order) throw refused({ type: "malformed", detail: "no such order", status: 404 })
    if (kind === "challenge" && payload !== "") void check(order)
    if (kind === "finalize") await finalize(order, payload)
    if (kind === "certificate") {
      return reply(response, 200, order.certificate ?? "", { "content-type": "application/pem-certificate-chain" })
    }
    const { body } = kind === "authorization" ? order.authorization : order
    reply(response, 200, kind === "challenge" ? order.authorization.challenge : body, {
      location: `${base}/order/${order.id}`,
    })
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const problem =
        error instanceof Problem ? error.problem : { type: "serverInternal", detail: String(error), status: 500 }
      const { type, detail, status = 400 } = problem
      reply(response, status, { type: `urn:ietf:params:acme:error:${type}`, detail, status })
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return authority
}

class Problem extends Error {
  constructor(readonly problem: AcmeProblem) {
    super(problem.detail)
  }
}
const refused = (problem: AcmeProblem): Problem => new Problem(problem)

const directoryAt = (base: string) => ({
  newNonce: `${base}/nonce`,
  newAccount: `${base}/new-account`,
  newOrder: `${base}/new-order`,
  meta: { termsOfService: `${base}/terms` },
})

/** RFC 7638: the members in alphabetical order. */
const thumbprintOf = ({ crv, kty, x, y }: JsonWebKey): string =>
  createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url")

/** Fetches the challenge as an authority does: by the name, from port 80. @returns  why the name is not verified */
async function challengeFailure(it: {
  readonly httpPort: number
  readonly name: string
  readonly token: string
  readonly expected: string
}): Promise<string | undefined> {
  const asked = { port: it.httpPort, path: `/.well-known/acme-challenge/${it.token}`, headers: { host: it.name } }
  try {
    const { status, body } = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const sent = httpRequest(asked, (response) =>
        text(response).then((body) => resolve({ status: response.statusCode, body }), reject),
      )
      sent.once("error", reject).end()
    })
    if (status !== 200) return `Invalid response from http://${it.name}${asked.path}: ${status}`
    return body.trim() === it.expected ? undefined : "The key authorization file from the server did not match"
  } catch (error) {
    return `Fetching http://${it.name}${asked.path}: ${(error as NodeJS.ErrnoException).code}`
  }
}

async function createCa() {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=Test authority",
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 24 * 3_600_000 * 365),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true)],
  })
  const sign = async (der: Buffer, name: string, validMs: number): Promise<string> => {
    const csr = new x509.Pkcs10CertificateRequest(new Uint8Array(der))
    const names = csr.extensions.flatMap((it) =>
      it instanceof x509.SubjectAlternativeNameExtension ? it.names.toJSON() : [],
    )
    if (!(await csr.verify()) || names.length !== 1 || names[0]?.value !== name) {
      throw refused({ type: "badCSR", detail: "the request is for other names" })
    }
    const issued = await x509.X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: certificate.subject,
      notBefore: new Date(Date.now() - 1000),
      notAfter: new Date(Date.now() + validMs),
      publicKey: csr.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }])],
    })
    return issued.toString("pem")
  }
  return { certificate, sign }
}
