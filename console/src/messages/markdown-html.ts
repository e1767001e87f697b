/** Markdown as safe HTML. What is HTML in the text is shown as text; nothing is loaded from another host. */
import createDOMPurify, { type DOMPurify } from "dompurify"
import { Marked, type Token, type Tokens, type TokensList } from "marked"

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    // A picture of another host would tell that host who reads the message, and when.
    image: ({ href, text }: Tokens.Image) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
  },
})

export interface MarkdownBlock {
  readonly raw: string
  readonly tokens: TokensList
}

/**
 * A text as its blocks. While a text grows, all blocks but the last stay as they are, so only that one is made anew. A
 * block that is nested too deeply to be read is plain text; if it is too deep for the parser, so is the whole text.
 */
export function blocksOf(text: string): MarkdownBlock[] {
  try {
    const all = marked.lexer(text)
    return all
      .filter((token: Token) => token.type !== "space")
      .map((token: Token) =>
        isDeeper(token, deepest)
          ? plain(token.raw)
          : { raw: token.raw, tokens: Object.assign([token], { links: all.links }) as TokensList },
      )
  } catch (error) {
    return [asWritten(text, error)]
  }
}

// Each quote or list is narrower than the one around it: deeper ones have no width left.
const deepest = 40

function isDeeper(token: Token, depth: number): boolean {
  const inner: readonly Token[] =
    (token.type === "list" ? (token as Tokens.List).items : (token as Tokens.Generic).tokens) ?? []
  return depth === 0 || inner.some((each) => isDeeper(each, depth - 1))
}

/** @throws the error, unless it is a stack overflow */
function asWritten(text: string, error: unknown): MarkdownBlock {
  if (!(error instanceof RangeError)) throw error
  return plain(text)
}

function plain(text: string): MarkdownBlock {
  const token: Tokens.Code = { type: "code", raw: text, text }
  return { raw: text, tokens: Object.assign([token], { links: {} }) as TokensList }
}

const allowed = {
  ALLOWED_TAGS:
    "p br strong em del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 hr a table thead tbody tr th td".split(" "),
  ALLOWED_ATTR: ["href", "title", "start", "align", "class", "target", "rel"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
}

let purify: DOMPurify | undefined

export function htmlOf(block: MarkdownBlock): string {
  purify ??= purifier()
  return purify.sanitize(unsafeHtmlOf(block), allowed)
}

function unsafeHtmlOf({ raw, tokens }: MarkdownBlock): string {
  try {
    return marked.parser(tokens)
  } catch (error) {
    return marked.parser(asWritten(raw, error).tokens)
  }
}

function purifier(): DOMPurify {
  const made = createDOMPurify(window)
  made.addHook("afterSanitizeAttributes", (node) => {
    if (node.tagName !== "A") return
    node.setAttribute("target", "_blank")
    node.setAttribute("rel", "noopener noreferrer")
  })
  return made
}
