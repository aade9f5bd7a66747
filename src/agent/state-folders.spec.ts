import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { containerSpecSchema, type ContainerSpecGiven } from '../reconcile/action.js'
import { label } from '../reconcile/labels.js'
import { StateFolders } from './state-folders.js'

const state = (source: string) => ({ kind: 'state' as const, source, target: `/${source}`, readOnly: false })

describe('StateFolders', () => {
  let stateDir: string
  let folders: StateFolders

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'folders-'))
    folders = new StateFolders(stateDir)
  })
  afterEach(() => rmSync(stateDir, { recursive: true }))

  const containerOf = (change: Partial<ContainerSpecGiven> = {}) =>
    containerSpecSchema.parse({
      name: 'c',
      image: 'caddy',
      labels: { [label.kind]: 'ingress' },
      env: [],
      address: null,
      restartPolicy: 'no',
      stopGraceSeconds: 1,
      mounts: [state('endpoints'), state('ingress/data')],
      ...change,
    })
  const labelsOf = (change: Partial<ContainerSpecGiven> = {}) => folders.mounted(containerOf(change)).labels

  it('folders of the agent -> made, and bind mounts of theirs', () => {
    const { mounts } = folders.mounted(containerOf())
    expect(mounts).toMatchObject([
      { kind: 'bind', source: join(stateDir, 'endpoints'), target: '/endpoints', readOnly: false },
      { kind: 'bind', source: join(stateDir, 'ingress/data'), target: '/ingress/data' },
    ])
    for (const { source } of mounts) expect(statSync(source).isDirectory()).toBe(true)
  })

  it('a folder that is there -> is left as it is', () => {
    mkdirSync(join(stateDir, 'endpoints'))
    writeFileSync(join(stateDir, 'endpoints', 'app_a.0'), '10.0.0.1:80')
    folders.mounted(containerOf())
    expect(statSync(join(stateDir, 'endpoints', 'app_a.0')).size).toBe(11)
  })

  it('other mounts -> as they are, and in their place', () => {
    const volume = { kind: 'volume' as const, source: 'data', target: '/data', readOnly: true }
    const { mounts } = folders.mounted(containerOf({ mounts: [volume, state('endpoints')] }))
    expect(mounts.map((m) => m.kind)).toEqual(['volume', 'bind'])
    expect(mounts[0]).toEqual(volume)
  })

  it('nothing of the agent -> the same container, whatever its kind, without a label', () => {
    const spec = containerOf({ mounts: [], labels: { [label.kind]: 'application' } })
    expect(folders.mounted(spec)).toBe(spec)
    expect(folders.lost(spec.labels)).toBe(false)
  })

  it.each(['application', 'nginxdemo', ''])('a container of kind «%s» -> refused for good, and nothing is made', (kind) => {
    const forged = containerOf({ labels: { [label.kind]: kind } })
    expect(() => folders.mounted(forged)).toThrow(expect.objectContaining({ reason: 'BadAction', retryable: false }))
    expect(() => statSync(join(stateDir, 'endpoints'))).toThrow('ENOENT')
  })

  it.each(['', '..', '/', '/etc', 'ingress', 'ingress/../keys', 'endpoints/', 'endpoints.d', 'secrets'])(
    'the folder «%s» -> refused for good',
    (name) =>
      expect(() => folders.mounted(containerOf({ mounts: [state(name)] }))).toThrow(
        expect.objectContaining({ reason: 'BadAction', retryable: false }),
      ),
  )

  it('made twice -> the same label; its folders are not lost', () => {
    expect(labelsOf()).toEqual(labelsOf())
    expect(folders.lost(labelsOf())).toBe(false)
    expect(new StateFolders(stateDir).lost(labelsOf())).toBe(false)
  })

  it('what is in a folder changes -> it is the same folder', () => {
    const labels = labelsOf()
    writeFileSync(join(stateDir, 'endpoints', 'app_a.0'), '10.0.0.1:80')
    expect(folders.lost(labels)).toBe(false)
  })

  it('a folder removed, or removed and made again -> lost', () => {
    const labels = labelsOf()
    rmSync(join(stateDir, 'ingress'), { recursive: true })
    expect(folders.lost(labels)).toBe(true)
    // A file system may give the same inode again, at once.
    mkdirSync(join(stateDir, 'other'))
    mkdirSync(join(stateDir, 'ingress/data'), { recursive: true })
    expect(folders.lost(labels)).toBe(true)
    expect(folders.lost(labelsOf())).toBe(false)
  })

  it('a label that nobody of us wrote -> lost, and no failure', () => {
    for (const text of ['x', '../../etc=1', 'endpoints=0']) expect(folders.lost({ [label.stateFolders]: text })).toBe(true)
  })

  it('the program has no user of its own -> that of the agent, unless that is root', () => {
    const uid = process.getuid?.() ?? 0
    expect(folders.mounted(containerOf()).user).toBe(uid === 0 ? null : `${uid}:${process.getgid?.() ?? 0}`)
    expect(folders.mounted(containerOf({ user: '7:7' })).user).toBe('7:7')
  })
})
