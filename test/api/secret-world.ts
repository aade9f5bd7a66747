import { randomBytes } from 'node:crypto'
import type { ApiUnderTest } from './api-under-test.js'

/** A project with secrets and applications that name them, as the tests of several files need it. */
export class SecretWorld {
  constructor(
    readonly api: ApiUnderTest,
    readonly projectId: string,
  ) {}

  static async make(api: ApiUnderTest, name = `p${randomBytes(6).toString('hex')}`): Promise<SecretWorld> {
    const { data } = await api.graphql(`mutation ($name: String!) { projectCreate(input: { name: $name }) { project { id } } }`, {
      name,
    })
    return new SecretWorld(api, data.projectCreate.project.id)
  }

  async ask(query: string, variables: object = {}, token?: string): Promise<any> {
    const { data, errors } = await this.api.graphql(query, { p: this.projectId, ...variables }, token)
    if (data === null) throw new Error(JSON.stringify(errors))
    return Object.values(data)[0]
  }

  secretSet(name: string, given: string | object, token?: string): Promise<any> {
    const input = { projectId: this.projectId, name, ...(typeof given === 'string' ? { value: given } : given) }
    const fields = 'secret { id name versions { version createdBy createdAt } } userErrors { field code message }'
    return this.ask(`mutation ($input: SecretSetInput!) { secretSet(input: $input) { ${fields} } }`, { input }, token)
  }

  credentialSet(name: string, more: object = {}): Promise<any> {
    const input = {
      projectId: this.projectId,
      name,
      host: 'registry.example.org:5000',
      username: 'robot',
      password: 'pa$$ w"ord',
      ...more,
    }
    const fields = 'registryCredential { id name host username } userErrors { field code message }'
    return this.ask(`mutation ($input: RegistryCredentialSetInput!) { registryCredentialSet(input: $input) { ${fields} } }`, {
      input,
    })
  }

  async application(name: string, spec: object): Promise<string> {
    const input = { projectId: this.projectId, name, image: 'nginx', ...spec }
    const fields = 'application { id } userErrors { field code message }'
    const { application, userErrors } = await this.ask(
      `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { ${fields} } }`,
      { input },
    )
    if (userErrors.length > 0) throw new Error(JSON.stringify(userErrors))
    return application.id
  }

  /** One that names what its project does not have, as no mutation would write it but an older database may have it. */
  async staleApplication(name: string, spec: object): Promise<string> {
    const id = await this.application(name, {})
    await this.api.db.resource.update({ where: { id }, data: { spec: { image: 'nginx', ...spec } } })
    return id
  }

  async release(resourceId: string, number: number, template: object): Promise<void> {
    const image = { image: 'nginx', resolvedImage: 'sha256:1', resolvedFrom: 'image-id' }
    const hashes = { hash: `h${number}`, templateHash: 't' }
    await this.api.db.release.create({
      data: { resourceId, number, generation: 1, template, createdAt: new Date(), ...image, ...hashes },
    })
  }

  async endpoint(resourceId: string, release: number, node = this.api.initialised.node.id): Promise<void> {
    const address = `10.192.${randomBytes(1)[0]}.${randomBytes(1)[0]}`
    await this.api.db.endpoint.create({
      data: { resourceId, release, replica: 0, node, address, state: 'ready', stateAt: new Date(), createdAt: new Date() },
    })
  }
}
