/** Runs in the browser as it stands: no build, no packages, and nothing but textContent to show what came. */
export const pageScript = String.raw`
'use strict'
const at = (id) => document.getElementById(id)
const first = [
  '# Ctrl+Enter runs what stands here. Everything that can be asked is on the right.',
  '{',
  '  viewer { name abilities }',
  '  nodes { nodes { id name conditions { type status reason message } } }',
  '  nginxdemos { nodes { id name spec { hostPort } conditions { type status reason message } } }',
  '  ingresses { nodes { id name spec { node httpPort httpsPort } conditions { type status reason message } } }',
  '}',
].join('\n')
const kept = { get: (key) => sessionStorage.getItem('evenkeel.' + key), set: (key, value) => sessionStorage.setItem('evenkeel.' + key, value) }
let socket = null

at('query').value = kept.get('query') || first
at('variables').value = kept.get('variables') || ''
at('token').value = kept.get('token') || ''

function say(text) { at('state').textContent = text }
function show(value) { at('result').textContent = typeof value === 'string' ? value : JSON.stringify(value, null, 2) }
function authorization() { return 'Bearer ' + at('token').value.trim() }

async function post(body) {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: authorization() },
    body: JSON.stringify(body),
  })
  return response.json()
}

function variables() {
  const text = at('variables').value.trim()
  return text === '' ? {} : JSON.parse(text)
}

async function run() {
  stop()
  for (const name of ['query', 'variables', 'token']) kept.set(name, at(name).value)
  let body
  try {
    body = { query: at('query').value, variables: variables() }
  } catch (error) {
    return show('The variables are no JSON: ' + error.message)
  }
  if (/^\s*(#.*\n\s*)*subscription\b/.test(body.query)) return follow(body)
  const began = performance.now()
  say('…')
  try {
    show(await post(body))
    say(Math.round(performance.now() - began) + ' ms')
  } catch (error) {
    show('No answer: ' + error.message)
    say('')
  }
}

function follow(body) {
  const came = []
  const ws = new WebSocket(location.origin.replace(/^http/, 'ws') + '/graphql', 'graphql-transport-ws')
  socket = ws
  at('stop').hidden = false
  show('')
  say('connecting')
  ws.onopen = () => ws.send(JSON.stringify({ type: 'connection_init', payload: { authorization: authorization() } }))
  ws.onmessage = ({ data }) => {
    const message = JSON.parse(data)
    if (message.type === 'connection_ack') {
      say('waiting for changes')
      ws.send(JSON.stringify({ id: '1', type: 'subscribe', payload: body }))
    } else if (message.type === 'ping') ws.send(JSON.stringify({ type: 'pong' }))
    else if (message.type === 'next' || message.type === 'error') {
      came.unshift(message.payload)
      came.splice(100)
      at('result').textContent = came.map((c) => JSON.stringify(c, null, 2)).join('\n\n')
    } else if (message.type === 'complete') stop()
  }
  ws.onclose = ({ code, reason }) => {
    if (socket !== ws) return
    say('closed: ' + code + ' ' + reason)
    socket = null
    at('stop').hidden = true
  }
}

function stop() {
  if (socket) { const ws = socket; socket = null; ws.close(1000) }
  at('stop').hidden = true
  say('')
}

const introspection = 'query { __schema { queryType { name } mutationType { name } subscriptionType { name } types { kind name description fields { name description args { name description defaultValue type { ...T } } type { ...T } } inputFields { name description type { ...T } } enumValues { name description } } } } fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }'

function typeText(type) {
  if (type.kind === 'NON_NULL') return typeText(type.ofType) + '!'
  if (type.kind === 'LIST') return '[' + typeText(type.ofType) + ']'
  return type.name
}

function element(name, text) {
  const made = document.createElement(name)
  if (text) made.textContent = text
  return made
}

function fieldEntry(field, onClick) {
  const entry = element('div')
  entry.className = 'field'
  const args = field.args && field.args.length ? '(' + field.args.map((a) => a.name + ': ' + typeText(a.type) + (a.defaultValue ? ' = ' + a.defaultValue : '')).join(', ') + ')' : ''
  const head = element('button', field.name + args + ': ' + typeText(field.type))
  head.onclick = onClick
  entry.append(head, element('p', field.description))
  return entry
}

function named(type) { return type.ofType ? named(type.ofType) : type.name }

async function loadSchema() {
  if (at('token').value.trim() === '') return
  const { data, errors } = await post({ query: introspection })
  const panel = at('schema')
  panel.replaceChildren()
  if (!data) return panel.append(element('p', errors ? errors[0].message : 'no answer'))
  const types = new Map(data.__schema.types.map((t) => [t.name, t]))
  const section = (title, type, open, onClick) => {
    const details = element('details')
    details.open = open
    details.append(element('summary', title))
    if (type.description) details.append(element('p', type.description))
    for (const field of type.fields || type.inputFields || []) details.append(fieldEntry(field, () => onClick(field)))
    for (const value of type.enumValues || []) details.append(fieldEntry({ name: value.name, type, description: value.description }, () => {}))
    panel.append(details)
    return details
  }
  const shown = new Map()
  const toType = (field) => {
    const target = shown.get(named(field.type))
    if (target) { target.open = true; target.scrollIntoView({ block: 'start' }) }
  }
  for (const key of ['queryType', 'mutationType', 'subscriptionType']) {
    const root = data.__schema[key]
    if (root) section(root.name, types.get(root.name), key === 'queryType', toType)
  }
  const roots = new Set(['Query', 'Mutation', 'Subscription'])
  for (const type of [...types.values()].sort((a, b) => a.name.localeCompare(b.name))) {
    if (roots.has(type.name) || type.name.startsWith('__') || type.kind === 'SCALAR') continue
    shown.set(type.name, section(type.name, type, false, toType))
  }
}

at('run').onclick = run
at('stop').onclick = stop
at('token').onchange = () => { kept.set('token', at('token').value); loadSchema().catch((e) => say(e.message)) }
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run() }
})
loadSchema().catch((e) => say(e.message))
`
