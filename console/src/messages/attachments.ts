/** Files of a message as LangChain's content blocks, which chat models of both languages take. Pure, but for reading the file. */

/** A block of a message's content, in LangChain's standard form: base64 data with a MIME type. */
export type ContentBlock = Readonly<Record<string, unknown>>

// A message goes with every checkpoint of its thread, and a request has a limit (HTTP_MAX_REQUEST_BODY_BYTES).
export const mostFileBytes = 5_000_000

/** Images that browsers and models both know. */
const imageTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"])

/** @param file.data  base64 */
export function blockOfFile({ name, type, data }: { name: string; type: string; data: string }): ContentBlock {
  if (imageTypes.has(type)) return { type: "image_url", image_url: { url: `data:${type};base64,${data}` } }
  const mime = type === "" ? "application/octet-stream" : type
  const kind = mime.startsWith("audio/") ? "audio" : "file"
  return { type: kind, source_type: "base64", mime_type: mime, data, metadata: { filename: name, name } }
}

/** @throws Error  the file is too large, or the browser cannot read it */
export async function readAttachment(file: File): Promise<ContentBlock> {
  if (file.size > mostFileBytes)
    throw new Error(
      `${file.name} has ${megabytes(file.size)} MB. A file may have at most ${megabytes(mostFileBytes)} MB.`,
    )
  const data = base64Of(new Uint8Array(await file.arrayBuffer()))
  return blockOfFile({ name: file.name, type: file.type, data })
}

const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1).replace(/\.0$/, "")

// As many as a call may have arguments, everywhere.
const portion = 8192

function base64Of(bytes: Uint8Array): string {
  let text = ""
  for (let at = 0; at < bytes.length; at += portion) text += String.fromCharCode(...bytes.subarray(at, at + portion))
  return btoa(text)
}

/** The content of a message: a plain text unless there are files. */
export const contentOf = (text: string, blocks: readonly ContentBlock[]): string | ContentBlock[] =>
  blocks.length === 0 ? text : [...(text.trim() === "" ? [] : [{ type: "text", text }]), ...blocks]

/** @returns the parts of a content that are no text, to be kept when the text is edited */
export const filesIn = (content: unknown): ContentBlock[] =>
  Array.isArray(content)
    ? content.filter((part): part is ContentBlock => typeof part === "object" && part !== null && part.type !== "text")
    : []
