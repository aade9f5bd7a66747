import { agentConfigSchema } from '../agent/config.js'
import { homePaths, type Settings } from '../settings.js'
import { apiUrlOf } from './initialise.js'
import { readStateFile } from './state-file.js'

export interface SecretToSet {
  settings: Settings
  /** Name or id of the project. */
  project: string
  name: string
  value: Buffer
}

interface Answer {
  data?: Record<string, any> | null
  errors?: { message: string }[]
}

/** Sets a secret through the API of the instance that lives in the state directory, with its owner's token. */
export async function setSecret({ settings, project, name, value }: SecretToSet): Promise<{ version: number; bytes: number }> {
  const ask = askWith(apiUrl(settings), ownerToken(settings))
  const found = await ask('query ($name: String!, $id: ID!) { projects(name: $name) { nodes { id } } project(id: $id) { id } }', {
    name: project,
    id: project,
  })
  const projectId: string | undefined = found['projects'].nodes[0]?.id ?? found['project']?.id
  if (projectId === undefined) throw new Error(`there is no project ${project}`)
  const mutation = `mutation ($input: SecretSetInput!) { secretSet(input: $input) { secret { versions { version } } userErrors { field message } } }`
  const { secretSet } = await ask(mutation, { input: { projectId, name, valueBase64: value.toString('base64') } })
  const [wrong] = secretSet.userErrors as { field: string[] | null; message: string }[]
  if (wrong) throw new Error(wrong.field?.at(-1) === 'name' ? `the name ${wrong.message}` : `the value ${wrong.message}`)
  return { version: secretSet.secret.versions[0].version, bytes: value.length }
}

function askWith(url: string, token: string) {
  return async (query: string, variables: object): Promise<Record<string, any>> => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    }).catch((error: unknown) => {
      throw new Error(`the API at ${url} does not answer: is Evenkeel running?`, { cause: error })
    })
    const { data, errors } = (await response.json().catch(() => ({}))) as Answer
    if (!data || errors) throw new Error(errors?.map((e) => e.message).join('; ') ?? `the API at ${url} answers with ${response.status}`)
    return data
  }
}

function ownerToken({ home }: Settings): string {
  const file = homePaths(home).ownerToken
  const token = readStateFile(file, "the owner's token")?.trim()
  if (!token) throw new Error(`there is no owner's token ${file}: is EVENKEEL_HOME the state directory of a running Evenkeel?`)
  return token
}

/** Where the instance's own agent finds the API: it was started with the ports that hold, whatever this environment says. */
function apiUrl(settings: Settings): string {
  const text = readStateFile(homePaths(settings.home).agentConfig, "the agent's configuration")
  const config = text === null ? null : agentConfigSchema.safeParse(JSON.parse(text))
  return config?.success ? config.data.apiUrl : apiUrlOf(settings)
}
