/** "Call it": the requests of a program, in the language of the reader, with the address of this deployment. */
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components/Tabs"
import { Button } from "../frame/button.js"
import { ArrowUpRight, Check, Copy } from "../frame/icons.js"
import { useCopy } from "../frame/use-copy.js"
import { type Called, snippets } from "./snippets.js"

export function CallIt({ url, graph }: Called) {
  return (
    <section className="section" aria-labelledby="call-it">
      <div className="section-head">
        <h2 id="call-it">Call it</h2>
        <a href={`${url}/docs`} target="_blank" rel="noreferrer">
          Its API reference <ArrowUpRight size={13} aria-hidden />
        </a>
      </div>
      <Tabs className="overview-call card">
        <TabList className="tabs overview-call-tabs" aria-label="Language">
          {snippets.map(([name]) => (
            <Tab key={name} id={name} className="tabs-one">
              {name}
            </Tab>
          ))}
        </TabList>
        {snippets.map(([name, text]) => (
          <TabPanel key={name} id={name} className="overview-call-panel">
            <Snippet name={name} text={text({ url, graph })} />
          </TabPanel>
        ))}
      </Tabs>
    </section>
  )
}

/** Until the agent has said which graphs it has: an example with another one could be copied, and would fail. */
export const CallWaits = () => (
  <section className="section" aria-labelledby="call-it" aria-busy="true">
    <h2 id="call-it">Call it</h2>
    <p className="faint">Reading which graphs the agent has …</p>
  </section>
)

function Snippet({ name, text }: { name: string; text: string }) {
  const { isCopied, copy, byHand } = useCopy()
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that is wider than its place is scrolled by keyboard too */}
      {/* biome-ignore lint/a11y/useSemanticElements: a section would not keep its spaces */}
      <pre tabIndex={0} role="region" aria-label={`${name}, to copy`}>
        {text}
      </pre>
      <Button look="quiet" onPress={() => void copy(text)} label={isCopied ? "Copied" : `Copy the ${name}`}>
        {isCopied ? <Check size={14} /> : <Copy size={14} />}
      </Button>
      {byHand}
    </>
  )
}
