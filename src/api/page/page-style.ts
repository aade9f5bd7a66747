export const pageStyle = `
:root { color-scheme: light dark; --line: #8884; --accent: #0b6e99; font: 14px/1.45 system-ui, sans-serif }
* { box-sizing: border-box }
body { margin: 0; height: 100vh; display: flex; flex-direction: column }
header { display: flex; gap: .8rem; align-items: center; padding: .5rem .8rem; border-bottom: 1px solid var(--line); flex-wrap: wrap }
h1 { font-size: 1rem; margin: 0 }
h2 { font-size: .8rem; margin: .4rem .6rem; opacity: .7 }
button { padding: .3rem .9rem; border: 1px solid var(--accent); border-radius: 4px; background: var(--accent); color: #fff; cursor: pointer }
button#stop { background: transparent; color: inherit }
input { padding: .3rem; border: 1px solid var(--line); border-radius: 4px; font: 12px ui-monospace, monospace; max-width: 100% }
main { flex: 1; min-height: 0; display: grid; grid-template-columns: 2fr 2fr 1.2fr }
section, aside { min-height: 0; overflow: auto; border-right: 1px solid var(--line) }
#ask { display: flex; flex-direction: column }
textarea { flex: 1; border: 0; padding: .6rem; resize: none; background: transparent; color: inherit; font: 13px/1.5 ui-monospace, monospace; outline-offset: -2px }
#variables { flex: 0 0 7rem; border-top: 1px solid var(--line) }
pre { margin: 0; padding: .6rem; font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
aside { padding: .4rem .6rem; font-size: 13px }
details { margin: .2rem 0 }
summary { cursor: pointer; font-weight: 600 }
.field { margin: .35rem 0 .35rem .8rem }
.field button { all: unset; cursor: pointer; color: var(--accent); font: 12px ui-monospace, monospace; overflow-wrap: anywhere }
.field button:focus-visible { outline: 2px solid var(--accent) }
.field p { margin: 0; opacity: .75; font-size: 12px }
@media (max-width: 900px) { main { grid-template-columns: 1fr; overflow: auto } section, aside { min-height: 16rem } }
`
