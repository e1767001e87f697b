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

/** A text as its blocks. While a text grows, all blocks but the last stay as they are, so only that one is made anew. */
export function blocksOf(text: string): MarkdownBlock[] {
  const all = marked.lexer(text)
  return all
    .filter((token: Token) => token.type !== "space")
    .map((token: Token) => ({ raw: token.raw, tokens: Object.assign([token], { links: all.links }) as TokensList }))
}

const allowed = {
  ALLOWED_TAGS:
    "p br strong em del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 hr a table thead tbody tr th td".split(" "),
  ALLOWED_ATTR: ["href", "title", "start", "align", "class", "target", "rel"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
}

let purify: DOMPurify | undefined

export function htmlOf({ tokens }: MarkdownBlock): string {
  purify ??= purifier()
  return purify.sanitize(marked.parser(tokens), allowed)
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
