import { createHash } from 'node:crypto'
import { pageScript } from './page-script.js'
import { pageStyle } from './page-style.js'

/**
 * The page at GET /graphql: a token, a query, an answer, and the schema to look things up in. One answer without any
 * other file, so that it works on a machine without internet.
 */
export const queryPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evenkeel · GraphQL</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
<header>
  <h1>Evenkeel</h1>
  <label>Token <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="evk_… (the owner's lies in secrets/owner-token)" size="52"></label>
  <button id="run" title="Ctrl+Enter">Run</button>
  <button id="stop" hidden>Stop</button>
  <span id="state" role="status"></span>
</header>
<main>
  <section id="ask">
    <textarea id="query" spellcheck="false" aria-label="Query"></textarea>
    <h2>Variables</h2>
    <textarea id="variables" spellcheck="false" aria-label="Variables, as JSON" placeholder="{ }"></textarea>
  </section>
  <section id="answer"><pre id="result" tabindex="0" aria-label="Answer"></pre></section>
  <aside id="schema" aria-label="Schema"><p>Enter a token to see what can be asked.</p></aside>
</main>
<script>${pageScript}</script>
</body>
</html>
`

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Runs this page's own script and style, talks to its own server, and nothing else. */
export const queryPagePolicy = [
  "default-src 'none'",
  `script-src ${hash(pageScript)}`,
  `style-src ${hash(pageStyle)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
