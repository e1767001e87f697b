/** The project's own embedding, named by `store.index.embed` of langgraph.json. */
import { realpathSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { StoreEmbedCall } from "@superstep/protocol/worker/frames"
import { parseSpec } from "../loading/graph-spec.js"
import { importExport } from "../loading/loader.js"
import { importFrom } from "../loading/project-modules.js"

/** Returns a vector for each text. */
type Embed = (texts: readonly string[]) => unknown

/** The part of LangChain's `Embeddings` that we use. */
interface Embeddings {
  embedDocuments(texts: readonly string[]): Promise<unknown>
}

/** LangChain's packages with embeddings, by the provider names of Python's `init_embeddings`. */
const providers: Readonly<Record<string, { readonly packageName: string; readonly className: string }>> = {
  openai: { packageName: "@langchain/openai", className: "OpenAIEmbeddings" },
  azure_openai: { packageName: "@langchain/openai", className: "AzureOpenAIEmbeddings" },
  bedrock: { packageName: "@langchain/aws", className: "BedrockEmbeddings" },
  cohere: { packageName: "@langchain/cohere", className: "CohereEmbeddings" },
  google_genai: { packageName: "@langchain/google-genai", className: "GoogleGenerativeAIEmbeddings" },
  google_vertexai: { packageName: "@langchain/google-vertexai", className: "VertexAIEmbeddings" },
  mistralai: { packageName: "@langchain/mistralai", className: "MistralAIEmbeddings" },
  ollama: { packageName: "@langchain/ollama", className: "OllamaEmbeddings" },
}

/**
 * @returns  vectors, which the server validates
 * @throws   the embedding's error, or an error with the reason why there is no embedding
 */
export async function embedTexts(project: string, call: StoreEmbedCall, payload: readonly Buffer[]): Promise<unknown> {
  const texts: readonly string[] = JSON.parse(payload[0]?.toString("utf8") ?? "[]")
  const embed = await embeddingOf(project, call.embed)
  return await embed(texts)
}

// A worker's sources never change, so a loaded embedding is cached; a failed one is loaded again.
const known = new Map<string, Promise<Embed>>()

function embeddingOf(project: string, spec: string): Promise<Embed> {
  const key = JSON.stringify([project, spec])
  const found = known.get(key) ?? (isFile(spec) ? fromFile(project, spec) : fromProvider(project, spec))
  known.set(key, found)
  // The caller gets the error.
  found.catch(() => known.delete(key))
  return found
}

const isFile = (spec: string): boolean => /\.([cm]?[jt]sx?|py):[^:]*$/.test(spec) || /^[^:]*[/\\]/.test(spec)

async function fromFile(project: string, spec: string): Promise<Embed> {
  const { path, name } = parseSpec(spec)
  const { exported } = await importExport(realpathSync(project), { path, name })
  if (isEmbeddings(exported)) return (texts) => exported.embedDocuments(texts)
  if (typeof exported === "function") return (texts) => exported(texts)
  throw new Error(`${path}:${name} is not an embedding: export a function from texts to vectors, or an Embeddings`)
}

async function fromProvider(project: string, spec: string): Promise<Embed> {
  const colon = spec.indexOf(":")
  const [name, model] = [spec.slice(0, colon), spec.slice(colon + 1)]
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined
  if (provider === undefined) {
    throw new Error(`unknown provider "${name}": use ${Object.keys(providers).join(", ")}, or file:function`)
  }
  const { packageName, className } = provider
  // Imports the package like a file of the project.
  const host = pathToFileURL(join(realpathSync(project), "langgraph.json")).href
  const exports = await importFrom(packageName, host).catch((cause: unknown) => {
    throw new Error(`the project does not have ${packageName}: add it to its dependencies and install them`, { cause })
  })
  const Class = exports[className]
  if (typeof Class !== "function") throw new Error(`the project's ${packageName} has no ${className}: update it`)
  const embeddings: unknown = Reflect.construct(Class, [{ model }])
  if (!isEmbeddings(embeddings)) throw new Error(`${className} of ${packageName} has no embedDocuments`)
  return (texts) => embeddings.embedDocuments(texts)
}

const isEmbeddings = (value: unknown): value is Embeddings =>
  typeof value === "object" && value !== null && "embedDocuments" in value && typeof value.embedDocuments === "function"
