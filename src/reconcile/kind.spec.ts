import { describe, expect, it } from 'vitest'
import { controllerName } from './controller.js'
import { controllerOf, controllers } from './controllers.js'
import { idPrefixByKind, kindOfId, kinds, nodeQueue, reconciledKinds, workflowIdOf } from './kind.js'

describe('kindOfId', () => {
  it.each(kinds.map((kind) => ({ kind, id: `${idPrefixByKind[kind]}_k3v` })))('$id -> $kind', ({ kind, id }) => expect(kindOfId(id)).toBe(kind))
  it.each(['', 'app', 'appx', 'app_', 'nodes', '_app', 'db_1', 'App_1', 'x app_1'])('%j -> no kind of ours', (id) =>
    expect(kindOfId(id)).toBeUndefined(),
  )
})

describe('idPrefixByKind', () => {
  it('two kinds -> never one prefix', () => expect(new Set(Object.values(idPrefixByKind)).size).toBe(kinds.length))
})

describe('controllerOf', () => {
  it.each(reconciledKinds)('%s -> a controller that calls itself so', (kind) => expect(controllerOf(kind)?.kind).toBe(kind))
  it.each(['node', 'database', '', 'toString'])('%j -> none', (kind) => expect(controllerOf(kind)).toBeUndefined())
  it('controllers -> exactly the kinds that have a loop', () => expect(Object.keys(controllers).sort()).toEqual([...reconciledKinds].sort()))
})

describe('names that must never change between versions', () => {
  it('controllerName', () => expect(controllerName('application', 'web')).toBe('application/web'))
  it('workflowIdOf', () => expect(workflowIdOf('application', 'app_1')).toBe('application:app_1'))
  it('nodeQueue short', () => expect(nodeQueue('node_1', 'short')).toBe('node.node_1'))
  it('nodeQueue long', () => expect(nodeQueue('node_1', 'long')).toBe('node.node_1.long'))
})
