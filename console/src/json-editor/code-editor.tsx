/** CodeMirror for JSON. In a module of its own, since it is large. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { json } from "@codemirror/lang-json"
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language"
import { EditorState } from "@codemirror/state"
import { EditorView, keymap } from "@codemirror/view"
import { tags } from "@lezer/highlight"
import { useEffect, useRef } from "react"

const theme = EditorView.theme({
  "&": {
    fontSize: "var(--text-s)",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-s)",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--font-mono)", caretColor: "var(--text)", padding: "6px 0", minHeight: "60px" },
  ".cm-line": { padding: "0 10px" },
  ".cm-scroller": { maxHeight: "360px", overflow: "auto", lineHeight: "1.55" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection": {
    backgroundColor: "var(--selected)",
  },
})

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: tags.number, color: "var(--busy)" },
  { tag: [tags.bool, tags.null], color: "var(--warn)" },
])

// The policy of the page lets only style sheets with this value be added.
const nonce = document.querySelector<HTMLElement>('meta[property="csp-nonce"]')?.nonce ?? ""

interface CodeEditorProps {
  readonly labelId: string
  readonly initial: string
  readonly onChange: (text: string) => void
  readonly isReadOnly: boolean
}

export default function CodeEditor({ labelId, initial, onChange, isReadOnly }: CodeEditorProps) {
  const element = useRef<HTMLDivElement>(null)
  const changed = useRef(onChange)
  changed.current = onChange
  useEffect(() => {
    if (!element.current) return
    const view = new EditorView({
      parent: element.current,
      state: EditorState.create({
        doc: initial,
        extensions: [
          history(),
          indentOnInput(),
          bracketMatching(),
          json(),
          theme,
          EditorView.cspNonce.of(nonce),
          syntaxHighlighting(colours),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            "aria-labelledby": labelId,
            ...(isReadOnly && { "aria-readonly": "true" }),
          }),
          EditorState.readOnly.of(isReadOnly),
          // Tab leaves the editor: without a mouse there would be no other way out.
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString())
          }),
        ],
      }),
    })
    return () => view.destroy()
  }, [initial, labelId, isReadOnly])
  return <div ref={element} />
}
