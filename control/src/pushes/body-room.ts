/**
 * Reads bodies of deliveries that are not verified yet, since the signature covers the whole body. So the bytes in memory
 * are limited over all senders, and a body must arrive in time. Bodies of ordinary size have a limit of their own, which
 * large ones cannot use up.
 */
import { TooLarge, Unavailable } from "@superstep/toolkit/errors/errors"

/** GitHub's limit of a payload; other hosts stay below it. */
export const maxDeliveryBytes = 25 * 1024 * 1024

// The limit of all other requests; a push of many commits has some hundred kilobytes.
const ordinaryBytes = 1024 * 1024
// Bytes of all ordinary bodies together, and number of large ones.
const [ordinaryRoom, largePlaces] = [16 * ordinaryBytes, 2]
// Hosts give up after ten seconds.
const patienceMs = 30_000
const retryAfterMs = 5000

export interface BodyRoom {
  /**
   * @throws TooLarge
   * @throws Unavailable  there is no room now, or the body does not arrive in time
   */
  read(request: Request): Promise<Uint8Array>
}

export function createBodyRoom({ bodyMs = patienceMs } = {}): BodyRoom {
  let [ordinary, large] = [0, 0]
  const enter = (bytes: number): (() => void) => {
    const isOrdinary = bytes <= ordinaryBytes
    if (isOrdinary ? ordinary + bytes > ordinaryRoom : large === largePlaces) throw new Unavailable(full, retryAfterMs)
    if (isOrdinary) ordinary += bytes
    else large += 1
    return () => {
      if (isOrdinary) ordinary -= bytes
      else large -= 1
    }
  }
  const read: BodyRoom["read"] = async ({ headers, body }) => {
    if (!body) return new Uint8Array()
    const length = headers.get("content-length")
    if (Number(length) > maxDeliveryBytes) throw tooLarge()
    let leave = enter(length === null ? ordinaryBytes : Number(length))
    // For a body without a content length, the size becomes known while reading.
    const onSize = (size: number) => {
      if (size > maxDeliveryBytes) throw tooLarge()
      if (length !== null || size <= ordinaryBytes) return
      leave()
      leave = () => undefined
      leave = enter(size)
    }
    try {
      return await readWhole(body, { bodyMs, onSize })
    } finally {
      leave()
    }
  }
  return { read }
}

const full = "too many deliveries are being received: retry in a moment"
const tooLarge = () => new TooLarge(`the body is larger than ${maxDeliveryBytes} bytes`)

async function readWhole(
  body: ReadableStream<Uint8Array>,
  { bodyMs, onSize }: { bodyMs: number; onSize: (size: number) => void },
): Promise<Uint8Array> {
  const reader = body.getReader()
  let isLate = false
  const late = setTimeout(() => {
    // The waiting read ends by this as at the end of a body.
    isLate = true
    // A body that has broken off cannot be cancelled; its read has failed and reports it.
    void reader.cancel().catch(() => undefined)
  }, bodyMs)
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) throw new Unavailable(`the delivery's body did not arrive within ${bodyMs} ms`, retryAfterMs)
      if (done) return Buffer.concat(chunks)
      size += value.byteLength
      onSize(size)
      chunks.push(value)
    }
  } finally {
    clearTimeout(late)
    // As above.
    await reader.cancel().catch(() => undefined)
  }
}
