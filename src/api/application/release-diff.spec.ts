import { describe, expect, it } from 'vitest'
import type { ReleaseTemplate } from '../../reconcile/application/spec.js'
import { releaseDifferences } from './release-diff.js'

const release = (template: Partial<ReleaseTemplate> = {}, resolvedImage = 'nginx@sha256:1') => ({
  template: { image: 'nginx', ...template } as ReleaseTemplate,
  resolvedImage,
})

interface Row {
  it: string
  from?: Partial<ReleaseTemplate>
  to?: Partial<ReleaseTemplate>
  differences: [string[], string | null, string | null][]
}

describe('releaseDifferences', () => {
  it.each<Row>([
    { it: 'nothing', differences: [] },
    { it: 'image', to: { image: 'nginx:2' }, differences: [[['image'], 'nginx', 'nginx:2']] },
    {
      it: 'env by name, whatever the order',
      from: {
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
      },
      to: {
        env: [
          { name: 'C', value: '' },
          { name: 'A', value: '3' },
        ],
      },
      differences: [
        [['env', 'A'], '1', '3'],
        [['env', 'B'], '2', null],
        [['env', 'C'], null, ''],
      ],
    },
    {
      it: 'secrets by version',
      from: { secretEnv: [{ name: 'T', secret: 'token', version: 1 }] },
      to: { secretEnv: [{ name: 'T', secret: 'token', version: 2 }] },
      differences: [[['secretEnv', 'T', 'version'], '1', '2']],
    },
    {
      it: 'lists without keys as a whole',
      from: { command: ['a', 'b'], ports: [80] },
      to: { command: ['b', 'a'], ports: [80] },
      differences: [[['command'], '["a","b"]', '["b","a"]']],
    },
    {
      it: 'objects field by field, also from nothing',
      from: { readiness: { path: '/a', port: 80 } },
      to: { readiness: { path: '/b', port: 80 }, preDeploy: { command: ['m'] } },
      differences: [
        [['readiness', 'path'], '/a', '/b'],
        [['preDeploy', 'command'], null, '["m"]'],
      ],
    },
    {
      it: 'a volume that moved',
      from: { volumes: [{ name: 'data', path: '/a' }] },
      to: { volumes: [{ name: 'data', path: '/b', readOnly: true }] },
      differences: [
        [['volumes', 'data', 'path'], '/a', '/b'],
        [['volumes', 'data', 'readOnly'], null, 'true'],
      ],
    },
    { it: 'restart', to: { restartNonce: 4 }, differences: [[['restartNonce'], null, '4']] },
  ])('$it', ({ from, to, differences }) => {
    const found = releaseDifferences(release(from), release(to), true)
    expect(found.map((d) => [d.field, d.before, d.after])).toEqual(differences)
  })

  it('what the image was resolved to -> first, beside the image', () => {
    const found = releaseDifferences(release({ user: '1' }), release({ image: 'nginx:2' }, 'nginx@sha256:2'), true)
    expect(found.map((d) => d.field[0])).toEqual(['image', 'resolvedImage', 'user'])
  })

  it('contents of files -> only for those who may see them; that they differ -> for all', () => {
    const file = (content: string) => release({ files: [{ path: '/a', content, mode: '0600' }] })
    expect(releaseDifferences(file('old'), file('secret'), true)).toEqual([
      { field: ['files', '/a', 'content'], before: 'old', after: 'secret' },
    ])
    const hidden = releaseDifferences(file('old'), file('secret'), false)
    expect(hidden).toEqual([
      {
        field: ['files', '/a', 'content'],
        before: expect.stringContaining('3 bytes'),
        after: expect.stringContaining('6 bytes'),
      },
    ])
    const made = releaseDifferences(release(), file('secret'), false)
    expect(JSON.stringify(made)).not.toContain('secret')
  })
})
