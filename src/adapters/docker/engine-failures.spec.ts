import { describe, expect, it } from 'vitest'
import { EngineFailure } from './engine.js'
import { toEngineFailure, type EngineCall } from './engine-failures.js'

const refusal = (statusCode: number, message: string) =>
  Object.assign(new Error(`(HTTP code ${statusCode}) server error - ${message} `), { statusCode, json: { message } })
const broken = (code: string) => Object.assign(new Error(`connect ${code} /var/run/docker.sock`), { code })

describe('toEngineFailure', () => {
  const cases: [string, Error, EngineCall, string, boolean][] = [
    ['socket file missing', broken('ENOENT'), 'read', 'DockerUnreachable', true],
    ['nobody listens', broken('ECONNREFUSED'), 'start', 'DockerUnreachable', true],
    ['engine died while it answered', broken('ECONNRESET'), 'change', 'DockerUnreachable', true],
    [
      'name in use',
      refusal(409, 'Conflict. The container name "/a" is already in use by container "b".'),
      'create',
      'NameTaken',
      true,
    ],
    ['image not there', refusal(404, 'No such image: nope:x'), 'create', 'ImageMissing', true],
    [
      'port of another container',
      refusal(
        500,
        'driver failed programming external connectivity on endpoint a (b): Bind for 127.0.0.1:80 failed: port is already allocated',
      ),
      'start',
      'PortTaken',
      true,
    ],
    [
      'port of a process',
      refusal(
        500,
        'driver failed programming external connectivity on endpoint a (b): Error starting userland proxy: listen tcp4 127.0.0.1:80: bind: address already in use',
      ),
      'start',
      'PortTaken',
      true,
    ],
    ['address of another container', refusal(403, 'Address already in use'), 'start', 'AddressInUse', true],
    ['network by name', refusal(404, 'network evenkeel-a not found'), 'start', 'NetworkMissing', true],
    [
      'command not on the path',
      refusal(400, 'OCI runtime create failed: exec: "nope": executable file not found in $PATH: unknown'),
      'start',
      'CommandNotFound',
      false,
    ],
    [
      'command file missing',
      refusal(400, 'OCI runtime create failed: exec: "/nope": stat /nope: no such file or directory: unknown'),
      'start',
      'CommandNotFound',
      false,
    ],
    [
      'command is a folder',
      refusal(400, 'OCI runtime create failed: exec: "/etc": permission denied: unknown'),
      'start',
      'CommandNotFound',
      false,
    ],
    ['disk full at create', refusal(500, 'mkdir /var/lib/docker/x: no space left on device'), 'create', 'DiskFull', true],
    ['disk full at pull', new Error('failed to register layer: write /a: no space left on device'), 'registry', 'DiskFull', true],
    [
      'tag unknown',
      new Error('manifest for a/b:9 not found: manifest unknown: manifest unknown'),
      'registry',
      'ImageNotFound',
      false,
    ],
    [
      'repository denied',
      new Error(
        "pull access denied for a/b, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
      ),
      'registry',
      'ImagePullUnauthorized',
      false,
    ],
    [
      'no credentials',
      new Error('Get "https://r.example/v2/a/manifests/1": unauthorized: authentication required'),
      'registry',
      'ImagePullUnauthorized',
      false,
    ],
    [
      'rate limit',
      new Error('toomanyrequests: You have reached your pull rate limit.'),
      'registry',
      'ImagePullRateLimited',
      true,
    ],
    [
      'wrong architecture',
      new Error('no matching manifest for linux/arm64/v8 in the manifest list entries'),
      'registry',
      'ImagePlatformMismatch',
      false,
    ],
    [
      'registry name does not resolve',
      refusal(500, 'Get "https://registry.example/v2/": dial tcp: lookup registry.example on 10.0.0.53:53: no such host'),
      'registry',
      'RegistryUnreachable',
      true,
    ],
    [
      'registry refuses connections',
      refusal(500, 'Get "http://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused'),
      'registry',
      'RegistryUnreachable',
      true,
    ],
    [
      'registry hangs',
      new Error(
        'Get "https://r.example/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)',
      ),
      'registry',
      'RegistryUnreachable',
      true,
    ],
    [
      'registry is broken',
      new Error('received unexpected HTTP status: 503 Service Unavailable'),
      'registry',
      'RegistryUnreachable',
      true,
    ],
    [
      'folder of a bind mount missing',
      refusal(400, 'invalid mount config for type "bind": bind source path does not exist: /srv/x'),
      'create',
      'BindSourceMissing',
      true,
    ],
    [
      'folder of a bind mount gone since',
      refusal(
        400,
        'OCI runtime create failed: error mounting "/srv/x" to rootfs at "/x": stat /srv/x: no such file or directory',
      ),
      'start',
      'BindSourceMissing',
      true,
    ],
    [
      'device missing',
      refusal(500, 'error gathering device information while adding custom device "/dev/x": no such file or directory'),
      'start',
      'DeviceMissing',
      true,
    ],
    ['user unknown', refusal(500, 'unable to find user web: no matching entries in passwd file'), 'start', 'UserNotFound', false],
    ['too many CPUs', refusal(400, 'Range of CPUs is from 0.01 to 2.00'), 'create', 'ResourcesNotApplied', false],
    ['absent', refusal(404, 'No such container: a'), 'read', 'NotFound', true],
    ['request makes no sense', refusal(400, 'invalid hostname'), 'create', 'EngineError', false],
    ['engine is broken', refusal(500, 'layer does not exist'), 'create', 'EngineError', true],
  ]

  it.each(cases)('%s -> its own reason', (_, error, call, reason, retryable) => {
    expect(toEngineFailure(error, call)).toMatchObject({ reason, retryable })
  })

  it('an engine answer -> its words alone, without the client library around them', () => {
    expect(toEngineFailure(refusal(500, 'layer does not exist'), 'create').message).toBe('layer does not exist')
    const stream = Object.assign(new Error('(HTTP code 500) server error - dial tcp: no such host '), {
      statusCode: 500,
      json: null,
    })
    expect(toEngineFailure(stream, 'registry').message).toBe('dial tcp: no such host')
  })

  it('a failure that is ours already -> itself', () => {
    const failure = new EngineFailure('DiskFull', 'full', true)
    expect(toEngineFailure(failure, 'start')).toBe(failure)
  })
})
